import type { Scope } from '../../core/scope.ts'

/**
 * Encodes a name, such as that of a user or a conversation, as part of a folder path or a git ref. Each byte of a character other than
 * lower-case letters, digits, `_` and `-` becomes `%XX`. No two names have the same encoding, also on disks that ignore case. A name that is
 * too long for one path segment continues in the next one. Every segment but the last then ends in a bare `%`.
 */
export function encodeName(name: string): string {
  const plain = name.replace(/[^a-z0-9_-]/gu, (character) => [...Buffer.from(character)].map(percent).join(''))
  const pieces = plain.match(/.{1,200}/g) ?? ['%%']
  return pieces.join('%/')
}

const percent = (byte: number) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`

/** The folder of a conversation below the root of all workspaces. Also part of the names of its git refs. */
export function conversationFolder({ tenant, project, user }: Scope, conversationId: string): string {
  return [tenant, project, user, conversationId].map(encodeName).join('/')
}

/** What programs leave in folders and files with these names is not published, because it can be made again or is internal. */
export const excludedNames = ['.git', '__pycache__', '.pytest_cache', 'node_modules', '.venv', 'logs', 'executed_programs'] as const

const excluded: ReadonlySet<string> = new Set(excludedNames)

/** The beginning of a path up to its first excluded name. Undefined when the path has none. */
export function excludedPart(rel: string): string | undefined {
  const segments = rel.split('/')
  const at = segments.findIndex((segment) => excluded.has(segment))
  return at === -1 ? undefined : segments.slice(0, at + 1).join('/')
}

export const isExcluded = (rel: string): boolean => rel.split('/').some((segment) => excluded.has(segment))

/** The scope of a file: its first folder below `files/`, or the file itself at the top. */
export function scopeOf(rel: string): string {
  const slash = rel.indexOf('/')
  return slash < 0 ? rel : rel.slice(0, slash)
}

/** Whether `rel` is the wanted file or lies below the wanted folder. '' is the folder of everything. */
export const isWithin = (rel: string, wanted: string): boolean => wanted === '' || rel === wanted || rel.startsWith(`${wanted}/`)

/** The folders that a path lies in, from the top. */
export function foldersAbove(path: string): readonly string[] {
  const segments = path.split('/')
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join('/'))
}
