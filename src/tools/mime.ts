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

/** The media type of a file, judged by its extension only. */
export function mimeOf(name: string): string {
  return mimeByExtension.get(extensionOf(name)) ?? 'application/octet-stream'
}

/** The extension in lower case, without the dot. Empty when the name has none. */
export const extensionOf = (name: string): string => /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''

/** Whether a model gets files of this type as an image or a document and not as text. */
export const isVisualMime = (mime: string): boolean => mime === 'application/pdf' || /^image\/(?:png|jpeg|gif|webp)$/.test(mime)

const textMimePattern = /^(?:text\/|application\/(?:json|yaml|xml|javascript|x-ndjson|toml)$|[^/]+\/[^/]+\+(?:json|xml|yaml)$)/

/** Whether files of this type contain text that a model can read. */
export const isTextMime = (mime: string): boolean => textMimePattern.test(mime.split(';', 1)[0]?.trim().toLowerCase() ?? '')

const decoders = {
  'utf-8': new TextDecoder('utf-8', { fatal: true }),
  'utf-16le': new TextDecoder('utf-16le', { fatal: true }),
  'utf-16be': new TextDecoder('utf-16be', { fatal: true }),
} as const

/** The charset of a text, judged by its byte order mark. Without this mark, the charset is UTF-8. */
export function detectCharset(bytes: Uint8Array): keyof typeof decoders {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
}

/** Decodes a text and removes its byte order mark. Undefined when the bytes are not valid text. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return decoders[detectCharset(bytes)].decode(bytes)
  } catch {
    return undefined
  }
}
