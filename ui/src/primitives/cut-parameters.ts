/** In place of a long text, the server sends this object. `preview` is the beginning of the text. */
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

/** If the server cut the content of a file that a call writes, the content ends with this text, the path of the file and `]`. */
const seeFile = '... [see '

/** The beginning of a content that the server cut. Undefined if the text is whole. */
export function cutContent(text: string): string | undefined {
  const end = text.endsWith(']') ? text.lastIndexOf(seeFile) : -1
  return end < 0 ? undefined : text.slice(0, end)
}

/**
 * Whether a part of the parameters is missing: the rest of a text, of a list or of an object. In this case a person can not change the
 * parameters, because the changed parameters would replace the complete parameters.
 */
export function isCut(value: unknown): boolean {
  if (typeof value === 'string') return cutContent(value) !== undefined || moreItems.test(value)
  if (Array.isArray(value)) return value.some(isCut)
  if (typeof value !== 'object' || value === null) return false
  return isCutText(value) || '...' in value || Object.values(value).some(isCut)
}

/** Matches the last item of a list that the server cut. */
const moreItems = /^\.\.\. \(\d+ more\)$/
