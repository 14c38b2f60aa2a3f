import { unsafeReason } from '../../core/path/safety.ts'

/** A path below the turn's folder. Not the rest of a longer one (`turn_1/files/a`), nor what is joined onto one (`root / "files/a"`). */
const relativePath = /(?<![\w./\\~-])(?<!\/\s{0,8}["'`])(?:files|outputs|attachments)\/[^\s"'`\\<>|*?,;:()[\]{}$]*/g

const maxPathLength = 255

/** A program that lists more is a table of files: the first are enough to be told of. */
const maxPaths = 1_000

/** The files and folders of its turn that a program speaks of, each once and in order, as it would read them in the turn's folder. */
export function mentionedPaths(program: string): readonly string[] {
  const found = new Set<string>()
  for (const [token] of program.matchAll(relativePath)) {
    const path = token.replace(/\/$/, '')
    if (!found.has(path) && path.length <= maxPathLength && unsafeReason(path) === undefined) found.add(path)
    if (found.size === maxPaths) break
  }
  return [...found]
}
