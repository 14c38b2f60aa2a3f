import { readFileSync } from 'node:fs'
import { createRequire, findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Context } from 'hono'
import { type App, createRoutes, type Env } from '../handler.ts'
import { pagePolicy, viewerPolicy } from '../headers.ts'
import { RequestProblem } from '../problem.ts'

/** The folder with the files of the viewer. It is found relative to package.json, because the build may put this module into another folder. */
const folder = join(dirname(createRequire(import.meta.url).resolve('daybook/package.json')), 'src/server/viewer')

const scriptType = 'text/javascript; charset=utf-8'

/**
 * Whether a path is a script of the viewer. Every origin may load these scripts. They are the same on every server, and contain no data of
 * users.
 */
export const isViewerScript = (path: string) => path === '/page/viewer.js' || path === '/page/mermaid.js'

/**
 * The routes of the viewer: a document in which the page shows HTML files, pictures and diagrams whose content is not trusted. The viewer
 * has an origin of its own, so the server must allow other origins to load its scripts.
 */
export function viewerRoutes(): App {
  const app = createRoutes()
  const html = readFileSync(join(folder, 'viewer.html'), 'utf8')
  const script = readFileSync(join(folder, 'viewer.js'))
  let mermaid: Buffer | undefined
  app.get('/page/viewer.html', (c) =>
    c.body(html, 200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': viewerPolicy,
      'x-frame-options': 'SAMEORIGIN',
      'cache-control': 'no-cache',
    }),
  )
  app.get('/page/viewer.js', (c) => sendScript(c, gzipSync(script)))
  app.get('/page/mermaid.js', (c) => {
    mermaid ??= compressedMermaid()
    return sendScript(c, mermaid)
  })
  return app
}

function sendScript(c: Context<Env>, gzipped: Buffer): Response {
  return c.body(new Uint8Array(gzipped), 200, {
    'content-type': scriptType,
    'content-encoding': 'gzip', // every browser that can run the scripts accepts gzip
    'content-security-policy': pagePolicy,
    'cross-origin-resource-policy': 'cross-origin',
    'cache-control': 'no-cache',
  })
}

/** The script that draws diagrams. The complete package draws more kinds of diagrams, so it is used if the application has installed it. */
function compressedMermaid(): Buffer {
  const file = fileOfPackage('mermaid', 'mermaid.min.js') ?? fileOfPackage('@mermaid-js/tiny', 'mermaid.tiny.js')
  if (file === undefined) throw new RequestProblem(404, 'route.missing', 'The package @mermaid-js/tiny is not installed.')
  return gzipSync(readFileSync(file))
}

function fileOfPackage(name: string, file: string): string | undefined {
  try {
    const found = findPackageJSON(name, import.meta.url)
    return found === undefined ? undefined : join(dirname(found), 'dist', file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}
