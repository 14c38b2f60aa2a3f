import { readFile } from 'node:fs/promises'
import type { BrowserContext, Page, Request, Route } from 'playwright-core'
import { findBundled } from './bundled-files.ts'

/**
 * The address of the document. A path of this address is the path of a file of the conversation. Requests to other addresses are refused.
 */
export const origin = 'https://document.invalid'

/** What the page requested while the document was made. */
export interface RequestLog {
  /** Files that do not exist. */
  readonly missing: ReadonlySet<string>
  /** The hosts of refused requests: all requests that are not a GET for a path of `origin`. */
  readonly refused: ReadonlySet<string>
}

const maxListed = 20

/** The document that a page shows, and the files that it uses. */
export interface ServedDocument {
  readonly html: string
  readAsset(path: string): Promise<Uint8Array | undefined>
}

/** Answers the requests of one context. */
export interface VirtualOrigin {
  readonly requests: RequestLog
  /** Sets the document that the page gets. Before that, all requests fail. */
  serve(document: ServedDocument): void
}

/**
 * Answers all requests of a context. Requests for the document, for files of the conversation and for bundled files succeed. All other
 * requests fail.
 */
export async function createVirtualOrigin(context: BrowserContext, page: Page): Promise<VirtualOrigin> {
  const missing = new Set<string>()
  const refused = new Set<string>()
  const note = (set: Set<string>, address: string) => set.size < maxListed && set.add(address.slice(0, 200))
  let document: ServedDocument | undefined
  let isServed = false

  async function answer(route: Route, request: Request): Promise<void> {
    const url = new URL(request.url())
    const isElsewhere = url.origin !== origin || request.method() !== 'GET'
    if (isElsewhere) note(refused, url.origin === 'null' ? url.href : url.host)
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) {
      if (isServed || isElsewhere || !document) return route.abort('aborted') // scripts must not navigate away from the document
      isServed = true
      return route.fulfill({ status: 200, contentType: 'text/html; charset=utf-8', body: document.html })
    }
    if (isElsewhere) return route.abort('blockedbyclient')
    const path = decodePath(url.pathname)
    const bundled = path === undefined ? undefined : findBundled(path)
    if (bundled) return route.fulfill({ status: 200, contentType: bundled.mime, body: await readBundled(bundled.file) })
    const bytes = path === undefined ? undefined : await document?.readAsset(path)
    if (bytes === undefined) {
      if (path !== 'favicon.ico') note(missing, path ?? url.pathname)
      return route.fulfill({ status: 404, contentType: 'text/plain', body: '' })
    }
    return route.fulfill({ status: 200, contentType: mimeOf(path ?? ''), body: Buffer.from(bytes) })
  }

  await context.route('**/*', async (route, request) => {
    // A request may end together with its page. Answering it then fails, and this failure is ignored.
    await answer(route, request).catch(() => route.abort().catch(() => {}))
  })
  await context.routeWebSocket(/.*/, (socket) => {
    note(refused, new URL(socket.url()).host)
    void socket.close()
  })
  context.on('page', (other) => void (other !== page && other.close()))
  return {
    requests: { missing, refused },
    serve(served) {
      document = served
    },
  }
}

/**
 * The contents of the bundled files that were read. They are kept in memory. The files are few and small, and every document needs some of
 * them.
 */
const bundledFiles = new Map<string, Promise<Buffer>>()

function readBundled(file: string): Promise<Buffer> {
  const reading = bundledFiles.get(file) ?? readFile(file)
  bundledFiles.set(file, reading)
  return reading
}

function decodePath(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname).replace(/^\//, '')
  } catch {
    return undefined // `%` without two hex digits
  }
}

const mimes: Readonly<Record<string, string>> = {
  ...{
    html: 'text/html; charset=utf-8',
    htm: 'text/html; charset=utf-8',
    css: 'text/css; charset=utf-8',
    txt: 'text/plain; charset=utf-8',
  },
  ...{
    js: 'text/javascript; charset=utf-8',
    mjs: 'text/javascript; charset=utf-8',
    json: 'application/json',
    csv: 'text/csv; charset=utf-8',
  },
  ...{
    svg: 'image/svg+xml',
    png: 'image/png',
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    gif: 'image/gif',
    webp: 'image/webp',
    avif: 'image/avif',
  },
  ...{ woff: 'font/woff', woff2: 'font/woff2', ttf: 'font/ttf', otf: 'font/otf', pdf: 'application/pdf', xml: 'application/xml' },
}

function mimeOf(path: string): string {
  const extension = path.slice(path.lastIndexOf('.') + 1).toLowerCase()
  return Object.hasOwn(mimes, extension) ? (mimes[extension] as string) : 'application/octet-stream'
}
