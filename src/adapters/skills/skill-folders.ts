import { type Dirent, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { oneLine } from '../../core/render/text.ts'
import type { FolderList, SkillSummary } from '../../ports/skills.ts'
import { maxFolders } from './folder.ts'
import { builtInSkills, type FolderSkills, loadSkills, type SkillFolder } from './skills.ts'
import { canParseYaml } from './yaml.ts'

/** Reads the skills of these folders. `built-in` stands for the skills that are part of Daybook. See `loadSkills`. */
export function openSkillFolders(folders: FolderList): FolderSkills {
  const chosen = folders.map((folder): SkillFolder => {
    if (folder === 'built-in') return builtInSkills()
    return { path: folder instanceof URL ? fileURLToPath(folder) : folder }
  })
  const skills = loadSkills(chosen)
  const mayChange = chosen.some(({ builtIn }) => !builtIn) && canParseYaml()
  return mayChange ? followChanges(skills, chosen) : skills
}

/** The shortest time between two checks of the files for changes. */
const lookEveryMs = 2_000

/**
 * Skills whose list stays the same when files change, because another list would invalidate the provider's cache. Their texts are read
 * again when files have changed, and `changes` says what is new.
 */
function followChanges(first: FolderSkills, folders: readonly SkillFolder[]): FolderSkills {
  let current = first
  let seen = stateOf(folders)
  let lookedAt = performance.now()

  function refresh(): void {
    if (performance.now() - lookedAt < lookEveryMs) return
    lookedAt = performance.now()
    const state = stateOf(folders)
    if (state === seen || state === undefined) return // while a folder can not be read, its skills stay
    current = loadSkills(folders)
    seen = state
  }

  return {
    ...first,
    async read(path, call) {
      refresh()
      return current.read(path, call)
    },
    changes() {
      refresh()
      return current === first ? [] : changesBetween(first.list(), current.list())
    },
  }
}

/** The names, sizes and times of all files of skills, as one text. Undefined when a folder can not be read. */
function stateOf(folders: readonly SkillFolder[]): string | undefined {
  const lines: string[] = []
  let visited = 0
  const visit = (folder: string, depth: number): void => {
    if (++visited > maxFolders) return // `loadSkills` has the same limit
    for (const entry of readdirSync(folder, { withFileTypes: true }).sort(byName)) {
      const path = join(folder, entry.name)
      if (entry.isDirectory() && depth < maxSkillDepth && !entry.name.startsWith('.')) visit(path, depth + 1)
      const stats = skillFileNames.has(entry.name) ? lstatSync(path, { throwIfNoEntry: false }) : undefined
      if (stats) lines.push(`${path}|${stats.size}|${stats.mtimeMs}`)
    }
  }
  try {
    for (const { path } of folders) visit(path, 0)
    return lines.sort().join('\n')
  } catch {
    return undefined // the folder was removed or can not be read. `daybook doctor` reports this
  }
}

const byName = (one: Dirent, other: Dirent): number => (one.name < other.name ? -1 : 1)

/** A skill is at most two folders below the folder of skills. */
const maxSkillDepth = 2
const skillFileNames: ReadonlySet<string> = new Set(['SKILL.md', 'tools.yaml', 'sources.yaml'])

/** Sentences that tell the model which skills are new, changed or removed. */
function changesBetween(before: readonly SkillSummary[], now: readonly SkillSummary[]): readonly string[] {
  const known = new Map(before.map((skill) => [skill.path, JSON.stringify(skill)]))
  const present = new Set(now.map(({ path }) => path))
  const added = now.filter(({ path }) => !known.has(path)).map(({ path, description }) => `New skill ${path}: ${oneLine(description, 200)}`)
  const changed = now.filter((skill) => (known.get(skill.path) ?? JSON.stringify(skill)) !== JSON.stringify(skill)).map(({ path }) => path)
  const removed = before.filter(({ path }) => !present.has(path)).map(({ path }) => path)
  return [
    ...added.slice(0, maxAnnounced),
    ...(changed.length > 0 ? [`Changed since the catalog was made: ${changed.slice(0, maxAnnounced).join(', ')}`] : []),
    ...(removed.length > 0 ? [`No longer there: ${removed.slice(0, maxAnnounced).join(', ')}`] : []),
  ]
}

const maxAnnounced = 8
