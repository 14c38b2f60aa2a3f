import { closeSync, constants, type Dirent, fstatSync, openSync, readdirSync, readSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage } from '../../core/failure.ts'
import type { SkillPlace } from './skill-file.ts'

/** The files of one skill, as texts. */
export interface SkillFiles extends SkillPlace {
  /** The path of the skill's folder below the folder of skills. */
  readonly path: string
  readonly skill: string
  readonly tools?: string
  readonly sources?: string
}

/** What is wrong with a file or folder of skills. */
export interface SkillProblem {
  readonly path: string
  /** The end of a sentence whose subject is the path, such as `is nested too deeply`. */
  readonly problem: string
}

/** The maximum size of one file of a skill. A larger file is reported as a problem and not used. */
export const maxFileBytes = 256 * 1024
/** At most this many entries of a folder are read. */
const maxEntries = 1_000
/** At most this many folders are read. Without this limit, a folder could contain a thousand folders with a thousand folders each. */
export const maxFolders = 1_000

/**
 * Finds the skills in a folder: `<id>/SKILL.md`, `<namespace>/<id>/SKILL.md`, or `SKILL.md` in the folder itself. Symbolic links are not
 * followed, and names that begin with a dot are left out. The skills are sorted by name. Throws when the folder can not be read.
 *
 * The files are read synchronously, because `createAgent` is synchronous. They are small, and are read once.
 */
export function findSkillFiles(folder: string, report: (problem: SkillProblem) => void): readonly SkillFiles[] {
  const root = realpathSync(folder)
  let visited = 0
  const look = (path: string): readonly Dirent[] => {
    if (++visited === maxFolders + 1) report({ path: '', problem: `has more than ${maxFolders} folders, and the others are left out` })
    return visited > maxFolders ? [] : entriesOf(join(root, path), path, report)
  }
  const entries = look('')
  if (entries.some(isSkillFile)) return readSkill(root, '', { folder: root.slice(root.lastIndexOf('/') + 1) }, report)
  return foldersIn(entries).flatMap((name) => {
    const inner = look(name)
    if (inner.some(isSkillFile)) return readSkill(root, name, { folder: name }, report)
    return foldersIn(inner).flatMap((id) =>
      look(`${name}/${id}`).some(isSkillFile) ? readSkill(root, `${name}/${id}`, { folder: id, namespace: name }, report) : [],
    )
  })
}

const isSkillFile = ({ name }: Dirent): boolean => name === 'SKILL.md'
const foldersIn = (entries: readonly Dirent[]): readonly string[] => entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)

/** The entries of a folder, in the order of their names. A folder below the root that can not be read is reported. */
function entriesOf(folder: string, path: string, report: (problem: SkillProblem) => void): readonly Dirent[] {
  try {
    const all = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.'))
    if (all.length > maxEntries)
      report({ path: path || folder, problem: `has more than ${maxEntries} entries, and the others are left out` })
    const entries = all.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, maxEntries)
    for (const entry of entries) {
      if (entry.isSymbolicLink()) report({ path: join(path, entry.name), problem: 'is a symbolic link, which is not followed' })
    }
    return entries.filter((entry) => !entry.isSymbolicLink())
  } catch (error) {
    if (path === '') throw error
    report({ path, problem: `can not be read: ${errorMessage(error)}` })
    return []
  }
}

function readSkill(root: string, path: string, place: SkillPlace, report: (problem: SkillProblem) => void): readonly SkillFiles[] {
  const read = (name: string) => {
    const result = readText(join(root, path, name))
    if (result && 'problem' in result) report({ path: join(path, name), problem: result.problem })
    return result && 'text' in result ? result.text : undefined
  }
  const skill = read('SKILL.md')
  if (skill === undefined) return []
  const tools = read('tools.yaml')
  const sources = read('sources.yaml')
  return [{ ...place, path, skill, ...(tools !== undefined && { tools }), ...(sources !== undefined && { sources }) }]
}

/**
 * The text of a file. Undefined when there is no such file. The checks use the file handle and not the path, because another process could
 * replace the file between a check and the read.
 */
function readText(file: string): { readonly text: string } | { readonly problem: string } | undefined {
  let handle: number
  try {
    handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    return { problem: code === 'ELOOP' ? 'is a symbolic link, which is not followed' : `can not be read: ${errorMessage(error)}` }
  }
  try {
    const stats = fstatSync(handle)
    if (!stats.isFile()) return { problem: 'is not a file' }
    if (stats.size > maxFileBytes) return { problem: `is larger than ${maxFileBytes} bytes` }
    const bytes = Buffer.alloc(maxFileBytes)
    let size = 0
    for (let count = -1; count !== 0 && size < maxFileBytes; size += count) count = readSync(handle, bytes, size, maxFileBytes - size, null)
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, size))
    return text.includes('\0') ? { problem: 'is not a text' } : { text: text.replaceAll('\r\n', '\n') }
  } catch (error) {
    return { problem: error instanceof TypeError ? 'is not a text in UTF-8' : `can not be read: ${errorMessage(error)}` }
  } finally {
    closeSync(handle)
  }
}
