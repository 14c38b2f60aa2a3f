import { parentPort } from 'node:worker_threads'
import type { NodeCompiler } from '@myriaddreamin/typst-ts-node-compiler'

/* The worker thread of `typst-renderer.ts`. It makes one PDF at a time with the package @myriaddreamin/typst-ts-node-compiler. */

export interface TypstRequest {
  readonly source: string
  /** The images that the source names. */
  readonly images: readonly { readonly name: string; readonly bytes: Uint8Array }[]
  /** Seconds since 1970. */
  readonly time: number
}

export type TypstResponse =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly pages: number }
  | { readonly ok: false; readonly message: string }

/** This folder does not exist. A document needs no folder: its images are passed in memory, and it must not read other files. */
const root = process.platform === 'win32' ? 'C:\\daybook-no-folder' : '/daybook-no-folder'

let loading: Promise<NodeCompiler> | undefined

/** Loads the package and the fonts. Fonts of the system are used for the scripts that the fonts of Typst lack. */
async function load(): Promise<NodeCompiler> {
  const typst = await import('@myriaddreamin/typst-ts-node-compiler')
  return typst.NodeCompiler.create({ workspace: root })
}

async function make({ source, images, time }: TypstRequest): Promise<TypstResponse> {
  loading ??= load()
  const compiler = await loading
  try {
    for (const { name, bytes } of images) compiler.mapShadow(`${root}/${name}`, Buffer.from(bytes))
    const compiled = compiler.compile({ mainFileContent: source })
    const document = compiled.result
    if (!document) return { ok: false, message: messageOf(compiled.takeError()?.shortDiagnostics) }
    return { ok: true, bytes: compiler.pdf(document, { creationTimestamp: time }), pages: document.numOfPages }
  } finally {
    compiler.resetShadow()
    compiler.evictCache(0)
  }
}

function messageOf(diagnostics: readonly unknown[] | undefined): string {
  const [first] = diagnostics ?? []
  return typeof first === 'object' && first !== null && 'message' in first ? String(first.message) : 'unknown error'
}

parentPort?.on('message', (request: TypstRequest) => {
  void make(request)
    .catch((error: unknown): TypstResponse => ({ ok: false, message: error instanceof Error ? error.message : String(error) }))
    .then((response) => parentPort?.postMessage(response))
})
