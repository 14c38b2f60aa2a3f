/** What `@@ -start,count +start,count @@ section` says. The counts are a claim: nothing fails because they are wrong. */
export interface HunkHeader {
  readonly start: number
  readonly oldCount: number
  readonly newCount: number
  readonly section: string
}

const hunkShape = /^@@\s*-(\d{1,9})(?:,(\d{1,9}))?\s+\+\d{1,9}(?:,(\d{1,9}))?\s*@@(.*)$/s

export function parseHunkHeader(line: string): HunkHeader | undefined {
  const [, start, oldCount = '1', newCount = '1', section = ''] = hunkShape.exec(line) ?? []
  return start === undefined ? undefined : { start: Number(start), oldCount: Number(oldCount), newCount: Number(newCount), section }
}

/** The file that a header here names, and how many lines it takes. Undefined when there is no header here. */
export function fileHeaderAt(
  lines: readonly string[],
  at: number,
): { readonly name: string | undefined; readonly length: number } | undefined {
  const [line = '', next = ''] = [lines[at], lines[at + 1]]
  if (line.startsWith('--- ') && next.startsWith('+++ ')) return { name: nameIn(next) ?? nameIn(line), length: 2 }
  if (line.startsWith('+++ ')) return { name: nameIn(line), length: 1 }
  return line.startsWith(gitHeader) ? { name: nameTwice(line.slice(gitHeader.length).trimEnd()), length: 1 } : undefined
}

/**
 * Inside a hunk `--- x` may also take away the line `-- x`. It is the header of the next part when a `+++` and a hunk follow, and
 * either the hunk is complete by its own counts or both lines name the same file.
 */
export function startsNextFile(lines: readonly string[], at: number, complete: boolean): boolean {
  const [line = '', next = '', after = ''] = [lines[at], lines[at + 1], lines[at + 2]]
  if (line.startsWith(gitHeader)) return true
  if (!line.startsWith('--- ') || !next.startsWith('+++ ') || !after.startsWith('@@')) return false
  return complete || nameIn(line) === undefined || nameIn(next) === undefined || nameIn(line) === nameIn(next)
}

const gitHeader = 'diff --git '

/** `a/x b/x`: the one name. Undefined where the two differ: the lines that follow tell. */
function nameTwice(names: string): string | undefined {
  const middle = (names.length - 1) / 2
  if (names[middle] !== ' ') return undefined
  const name = plainName(names.slice(0, middle))
  return name === plainName(names.slice(middle + 1)) ? name : undefined
}

/** Undefined for the file that is not there. */
function nameIn(line: string): string | undefined {
  const name = plainName(line.slice(4).split('\t', 1)[0] ?? '')
  return name === '/dev/null' ? undefined : name
}

/** Without quotes, and without the `a/` and `b/` of git. */
function plainName(name: string): string {
  const bare = name.trim().replace(/^"(.*)"$/s, '$1')
  return bare.replace(/^(?:\.\/)+/, '').replace(/^[abciow]\//, '')
}
