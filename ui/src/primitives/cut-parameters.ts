/** The server sends only the beginning of a long text, in an object. */
interface CutText {
  readonly preview: string
}

export const isCutText = (value: unknown): value is CutText =>
  typeof value === 'object' &&
  value !== null &&
  'truncated' in value &&
  value.truncated === true &&
  'preview' in value &&
  typeof value.preview === 'string'

/** The end of the content of a file that is to be written, if the server cut it: `... [see ` and the path of the file. */
const seeFile = '... [see '

/** The beginning of a content that the server cut. Undefined if the text is whole. */
export function cutContent(text: string): string | undefined {
  const end = text.endsWith(']') ? text.lastIndexOf(seeFile) : -1
  return end < 0 ? undefined : text.slice(0, end)
}

/**
 * Whether a part of the parameters is missing: the rest of a text, of a list or of an object. The parameters can not be changed then, because
 * changed ones replace all of them.
 */
export function isCut(value: unknown): boolean {
  if (typeof value === 'string') return cutContent(value) !== undefined || moreItems.test(value)
  if (Array.isArray(value)) return value.some(isCut)
  if (typeof value !== 'object' || value === null) return false
  return isCutText(value) || '...' in value || Object.values(value).some(isCut)
}

/** Stands at the end of a list that the server cut. */
const moreItems = /^\.\.\. \(\d+ more\)$/
