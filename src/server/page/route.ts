import { readFileSync } from 'node:fs'
import { type App, createApp } from '../context.ts'
import { pagePolicy } from '../headers.ts'

const files = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page/page.css': ['page.css', 'text/css; charset=utf-8'],
} as const

/** A plain page, read once: to look at a conversation without installing anything. */
export function pageRoutes(): App {
  const app = createApp()
  for (const [path, [file, type]] of Object.entries(files)) {
    const text = readFileSync(new URL(file, import.meta.url), 'utf8')
    app.get(path, (c) => c.body(text, 200, { 'content-type': type, 'content-security-policy': pagePolicy, 'cache-control': 'no-cache' }))
  }
  return app
}
