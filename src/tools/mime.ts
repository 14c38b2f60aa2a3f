const mimeByExtension: ReadonlyMap<string, string> = new Map([
  ['md', 'text/markdown'],
  ['markdown', 'text/markdown'],
  ['txt', 'text/plain'],
  ['mermaid', 'text/plain'],
  ['mmd', 'text/plain'],
  ['html', 'text/html'],
  ['htm', 'text/html'],
  ['css', 'text/css'],
  ['csv', 'text/csv'],
  ['js', 'text/javascript'],
  ['ts', 'text/plain'],
  ['py', 'text/x-python'],
  ['json', 'application/json'],
  ['yaml', 'application/yaml'],
  ['yml', 'application/yaml'],
  ['xml', 'application/xml'],
  ['svg', 'image/svg+xml'],
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['pdf', 'application/pdf'],
  ['zip', 'application/zip'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
])

/** What a file is, by its name alone. */
export function mimeOf(name: string): string {
  return mimeByExtension.get(/\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? '') ?? 'application/octet-stream'
}

const textMimePattern = /^(?:text\/|application\/(?:json|yaml|xml|javascript|x-ndjson|toml)$|[^/]+\/[^/]+\+(?:json|xml|yaml)$)/

/** Whether bytes of this type are text that a model can read. */
export const isTextMime = (mime: string): boolean => textMimePattern.test(mime.split(';', 1)[0]?.trim().toLowerCase() ?? '')

const decoders = {
  'utf-8': new TextDecoder('utf-8', { fatal: true }),
  'utf-16le': new TextDecoder('utf-16le', { fatal: true }),
  'utf-16be': new TextDecoder('utf-16be', { fatal: true }),
} as const

/** How bytes say that they are written: UTF-16 always begins with its mark. */
export function detectCharset(bytes: Uint8Array): keyof typeof decoders {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
}

/** The text that bytes are, without its mark; undefined when they are none. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return decoders[detectCharset(bytes)].decode(bytes)
  } catch {
    return undefined
  }
}
