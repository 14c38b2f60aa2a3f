import type { Scope, UserOrTenant } from '../../core/scope.ts'

/**
 * Encodes a name, such as that of a user or a conversation, as part of a folder path or a git ref. Lower-case letters, digits, `_` and `-`
 * stay. Each byte of another character becomes `%XX`. No two names have the same encoding, not even on disks that ignore case. A long name
 * is split into several path segments. In this case, every segment except the last ends with `%`.
 */
export function encodeName(name: string): string {
  const plain = name.replace(/[^a-z0-9_-]/gu, (character) => [...Buffer.from(character)].map(percent).join(''))
  const pieces = plain.match(/.{1,200}/g) ?? ['%%']
  return pieces.join('%/')
}

const percent = (byte: number) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`

/** The folder of a conversation below the root of all workspaces. It is also part of the names of git refs. */
export function conversationFolder({ tenant, project, user }: Scope, conversationId: string): string {
  return [tenant, project, user, conversationId].map(encodeName).join('/')
}

/** The folder of a user or tenant below the root of all workspaces. */
export const ownerFolder = ({ tenant, project, user }: UserOrTenant): string =>
  (user === undefined ? [tenant] : [tenant, project, user]).map(encodeName).join('/')

/** Names of folders and files that are not published, because programs can create them again, or because they are internal. */
export const excludedNames = ['.git', '__pycache__', '.pytest_cache', 'node_modules', '.venv', 'logs', 'executed_programs'] as const

const excluded: ReadonlySet<string> = new Set(excludedNames)

/** The path up to its first excluded name. Undefined when the path has no excluded name. */
export function excludedPart(rel: string): string | undefined {
  const segments = rel.split('/')
  const at = segments.findIndex((segment) => excluded.has(segment))
  return at === -1 ? undefined : segments.slice(0, at + 1).join('/')
}

export const isExcluded = (rel: string): boolean => rel.split('/').some((segment) => excluded.has(segment))

/** The scope of a file: its first folder below `files/`, or the file itself if it is directly below `files/`. */
export function scopeOf(rel: string): string {
  const slash = rel.indexOf('/')
  return slash < 0 ? rel : rel.slice(0, slash)
}

/** Whether `rel` is the file `wanted` or is below the folder `wanted`. '' is the folder with all files. */
export const isWithin = (rel: string, wanted: string): boolean => wanted === '' || rel === wanted || rel.startsWith(`${wanted}/`)

/** The folders above a path, outermost first. */
export function foldersAbove(path: string): readonly string[] {
  const segments = path.split('/')
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join('/'))
}
