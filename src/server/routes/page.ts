import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Context } from 'hono'
import { type App, createRoutes, type Env } from '../handler.ts'
import { pagePolicy } from '../headers.ts'
import { RequestProblem } from '../problem.ts'

/**
 * The folder with the built page. It is found relative to package.json, because the build may put this module into another folder.
 */
const folder = join(dirname(createRequire(import.meta.url).resolve('daybook/package.json')), 'ui/dist')

/** The addresses of the page. The page itself decides what it shows at each of them. */
const addresses = [
  '/',
  '/settings',
  '/waiting',
  '/c/:id',
  '/c/:id/timeline',
  '/c/:id/prompt',
  '/c/:id/prompt/:turn/:round',
  '/c/:id/cost',
  '/c/:id/sources',
  '/c/:id/effects',
  '/c/:id/replay',
]

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
}

/** Whether a path belongs to the page. The page has no data of users, so it is served without a token. */
export const isPagePath = (path: string) =>
  path === '/' || path === '/settings' || path === '/waiting' || path.startsWith('/c/') || path.startsWith('/page/')

/** The routes of the page. Files are read when they are first requested, and are then kept in memory. */
export function pageRoutes(): App {
  const app = createRoutes()
  const files = listFiles()
  const opened = new Map<string, PageFile>()
  const open = (name: string) => {
    const known = opened.get(name) ?? readPageFile(name)
    opened.set(name, known)
    return known
  }
  for (const address of addresses) {
    app.get(address, (c) => {
      if (!files.has('index.html')) return c.text('The page is not built. Run `npm run build:page`.', 503)
      const html = open('index.html').bytes.toString()
      return send(c, { type: 'text/html; charset=utf-8', bytes: Buffer.from(relativeTo(c.req.path, html)), cache: 'no-cache' })
    })
  }
  app.get('/page/:file', (c) => {
    const name = `page/${c.req.param('file')}`
    if (!files.has(name)) throw new RequestProblem(404, 'route.missing', 'There is no such path.')
    return send(c, open(name))
  })
  return app
}

interface PageFile {
  readonly type: string
  readonly bytes: Buffer
  /** The compressed bytes, for clients that accept gzip. Undefined for fonts, because they are already compressed. */
  readonly gzip?: Buffer
  readonly cache: string
}

function listFiles(): ReadonlySet<string> {
  if (!existsSync(folder)) return new Set()
  return new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => path.replaceAll('\\', '/')))
}

function readPageFile(name: string): PageFile {
  const bytes = readFileSync(join(folder, name))
  const type = types[extname(name)] ?? 'application/octet-stream'
  // the name of a file changes with its content, so a browser may keep the file for ever
  const file = { type, bytes, cache: 'public, max-age=31536000, immutable' }
  return type.startsWith('text/') ? { ...file, gzip: gzipSync(bytes) } : file
}

/**
 * Adapts the relative addresses in the page to the depth of `path`. The page has relative addresses, because it may be mounted under any
 * path.
 */
function relativeTo(path: string, html: string): string {
  const depth = path.split('/').length - 2
  return depth <= 0 ? html : html.replaceAll('"./page/', `"${'../'.repeat(depth)}page/`)
}

function send(c: Context<Env>, { type, bytes, gzip, cache }: PageFile): Response {
  const headers = { 'content-type': type, 'content-security-policy': pagePolicy, 'cache-control': cache, vary: 'accept-encoding' }
  const accepts = gzip && c.req.header('accept-encoding')?.includes('gzip')
  const body = accepts ? gzip : bytes
  return c.body(new Uint8Array(body), 200, accepts ? { ...headers, 'content-encoding': 'gzip' } : headers)
}
