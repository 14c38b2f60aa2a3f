import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type App, createRoutes } from '../handler.ts'
import { pagePolicy } from '../headers.ts'

const files = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page/markdown.js': ['markdown.js', 'text/javascript; charset=utf-8'],
  '/page/page.css': ['page.css', 'text/css; charset=utf-8'],
} as const

/**
 * The folder with the files of the page. It is found relative to package.json, because the build may put this module into another folder.
 */
const folder = join(dirname(createRequire(import.meta.url).resolve('daybook/package.json')), 'src/server/page')

/** The routes of the built-in page. Its files are read once, at the start of the server. */
export function pageRoutes(): App {
  const app = createRoutes()
  for (const [path, [file, type]] of Object.entries(files)) {
    const text = readFileSync(join(folder, file), 'utf8')
    app.get(path, (c) => c.body(text, 200, { 'content-type': type, 'content-security-policy': pagePolicy, 'cache-control': 'no-cache' }))
  }
  return app
}
