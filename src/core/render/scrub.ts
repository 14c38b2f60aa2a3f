/** Shorter runs may be keys, hashes or long words. */
const shortestRun = 2_048
const runs = /[A-Za-z0-9+/]{60,}={0,2}/g
const separator = /^(?:\r?\n|\\r\\n|\\n)$/ // the escaped forms stand inside JSON strings

/**
 * Bytes that a tool printed as base64, taken out of a text: they cost thousands of tokens and no model can read them. One run, or
 * consecutive lines of 60 characters and more, of 2,048 characters altogether.
 */
export function scrubBase64(text: string): string {
  if (text.length < shortestRun) return text
  const found = groups(text).filter(({ length }) => length >= shortestRun)
  if (found.length === 0) return text
  let kept = ''
  let from = 0
  for (const { start, end, length } of found) {
    kept += text.slice(from, start) + marker(length)
    from = end
  }
  return kept + text.slice(from)
}

const marker = (length: number) =>
  `[base64 removed: ${length} characters, about ${Math.floor((length * 3) / 4)} bytes; pass the file by its path, never its bytes]`

interface Group {
  readonly start: number
  end: number
  length: number
}

function groups(text: string): readonly Group[] {
  const all: Group[] = []
  for (const match of text.matchAll(runs)) {
    const start = match.index
    const length = match[0].length
    const open = all.at(-1)
    if (open && start - open.end <= 4 && separator.test(text.slice(open.end, start))) {
      open.end = start + length
      open.length += length
    } else all.push({ start, end: start + length, length })
  }
  return all
}
