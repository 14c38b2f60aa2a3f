import { decodeText, detectCharset as markedCharset } from '../decode.ts'
import { extensionOf } from './name.ts'

/** How a text is written; undefined when the bytes are no text: not in UTF-8, nor in UTF-16 with its mark, or with a NUL in it. */
export function textCharset(bytes: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' | undefined {
  const text = decodeText(bytes)
  return text === undefined || text.includes('\0') ? undefined : markedCharset(bytes)
}

const textMimeByExtension: ReadonlyMap<string, string> = new Map([
  ['md', 'text/markdown'],
  ['markdown', 'text/markdown'],
  ['csv', 'text/csv'],
  ['tsv', 'text/tab-separated-values'],
  ['json', 'application/json'],
  ['html', 'text/html'],
  ['htm', 'text/html'],
  ['xml', 'application/xml'],
  ['yaml', 'application/yaml'],
  ['yml', 'application/yaml'],
  ['css', 'text/css'],
  ['js', 'text/javascript'],
  ['mjs', 'text/javascript'],
  ['py', 'text/x-python'],
])

/** What kind of text it is, which only its name can tell. */
export const textMime = (name: string): string => textMimeByExtension.get(extensionOf(name)) ?? 'text/plain'
