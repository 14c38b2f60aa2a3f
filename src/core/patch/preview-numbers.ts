import { isDiff } from './parse.ts'

/**
 * Line numbers are shown to point at lines; they are not part of them. True for a patch that was copied from such a view, unless
 * the file looks like that itself.
 */
export function hasPreviewNumbers(patch: string, target: string): boolean {
  return looksCopied(patch) && !looksNumbered(target.split('\n'))
}

const numbered = /^ *\d+\t/
const previewMarker = /^[ +-]?(?:\[READ (?:RANGE|PREVIEW)\]|(?:lines|symbols): \[\d+-\d+\]\/\d+)/m

function looksCopied(patch: string): boolean {
  const lines = patch.split('\n')
  const shown = isDiff(patch) ? lines.filter((line) => /^[ +-](?!--|\+\+)/.test(line)).map((line) => line.slice(1)) : lines
  return looksNumbered(shown) || (previewMarker.test(patch) && shown.some((line) => numbered.test(line)))
}

function looksNumbered(lines: readonly string[]): boolean {
  const count = lines.filter((line) => numbered.test(line)).length
  return count >= 5 || (count >= 2 && count >= lines.length * 0.35)
}
