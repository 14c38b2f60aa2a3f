import type { Scope } from '../../core/scope.ts'

/**
 * A name from outside as part of a folder or of a ref: reversibly, so that no two share one, and in small letters, so that no disk that
 * takes `A` for `a` makes them one. Everything else is its bytes, `%XX`. What is longer than a name may be goes on in the next segment,
 * and says so by ending in a `%` with nothing behind it.
 */
export function encodeName(name: string): string {
  const plain = name.replace(/[^a-z0-9_-]/gu, (character) => [...Buffer.from(character)].map(percent).join(''))
  const pieces = plain.match(/.{1,200}/g) ?? ['%%']
  return pieces.join('%/')
}

const percent = (byte: number) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`

/** The inverse of `encodeName`; undefined for what it never wrote. */
export function decodeName(encoded: string): string | undefined {
  try {
    const name = encoded === '%%' ? '' : decodeURIComponent(encoded.replaceAll('%/', ''))
    return encodeName(name) === encoded ? name : undefined
  } catch {
    return undefined // no text of ours
  }
}

/** Where a conversation lives below the root of all workspaces; also how its refs are called. */
export function conversationFolder({ tenant, project, user }: Scope, conversation: string): string {
  return [tenant, project, user, conversation].map(encodeName).join('/')
}

/** Never part of a version: made again when needed, or nobody's business. */
export const excludedNames = ['.git', '__pycache__', '.pytest_cache', 'node_modules', '.venv', 'logs', 'executed_programs'] as const

const excluded: ReadonlySet<string> = new Set(excludedNames)

export const isExcluded = (rel: string): boolean => rel.split('/').some((segment) => excluded.has(segment))

/** The first folder below `files/`, or the file itself. */
export function scopeOf(rel: string): string {
  const slash = rel.indexOf('/')
  return slash < 0 ? rel : rel.slice(0, slash)
}

/** The file of that name, or everything below the folder of that name; '' is everything. */
export const isWithin = (rel: string, wanted: string): boolean => wanted === '' || rel === wanted || rel.startsWith(`${wanted}/`)
