// Serves a route handler of Next in the way Next does it: the exported function with the name of the method gets a `Request`. Start it with
// the path of the module. Next itself is not installed, because it is large.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import { getRequestListener } from '@hono/node-server'

type Route = Readonly<Record<string, (request: Request) => Promise<Response>>>

const route = (await import(pathToFileURL(process.argv[2] ?? '').href)) as Route
const server = createServer(
  getRequestListener(
    async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/') return new Response('The page of the application')
      return (await route[request.method]?.(request)) ?? new Response(null, { status: 405 })
    },
    { overrideGlobalObjects: false },
  ),
)
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
process.once('SIGTERM', () => server.close())
