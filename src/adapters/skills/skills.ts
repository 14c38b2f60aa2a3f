import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { rewriteSids } from '../../core/citations/sids.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { missingPackageText } from '../../core/failure.ts'
import { parsePath } from '../../core/path/logical.ts'
import type { Skill, SkillSummary, Skills } from '../../ports/skills.ts'
import { findSkillFiles, type SkillFiles, type SkillProblem } from './folder.ts'
import { parseSkillFile, parseSourcesFile, type SkillFile, type SkillSource } from './skill-file.ts'
import { canParseYaml } from './yaml.ts'

/** Skills that were read from folders. */
export interface FolderSkills extends Skills {
  list(): readonly SkillSummary[]
  /** Files that were left out, imports that do not exist, and other mistakes. */
  readonly problems: readonly SkillProblem[]
}

/** A folder of skills. */
export interface SkillFolder {
  readonly path: string
  /** True for the skills that are part of Daybook. */
  readonly builtIn?: true
}

interface LoadedSkill extends SkillFile {
  readonly sources: readonly SkillSource[]
  readonly builtIn: boolean
  /** The path of the skill's folder, for the list of problems. */
  readonly at: string
}

/** An agent has at most this many skills, because all of them are in every prompt. */
const maxSkills = 64
/** The most skills that one skill can import, directly and indirectly. Further imports are left out. */
const maxImports = 32

/** The folder of the skills that are part of Daybook. */
export const builtInSkills = (): SkillFolder => ({
  path: join(dirname(createRequire(import.meta.url).resolve('daybook/package.json')), 'src/adapters/skills/built-in'),
  builtIn: true,
})

/**
 * Reads all skills of these folders. If two folders have a skill with the same name, the skill of the later folder is used. So an
 * application can replace a skill of Daybook. `problems` lists the files with errors. The other skills can still be used. Later changes of
 * the files have no effect. Throws when a folder can not be read.
 */
export function loadSkills(folders: readonly SkillFolder[]): FolderSkills {
  if (!canParseYaml()) return withoutYaml(folders)
  const problems: SkillProblem[] = []
  const byName = new Map<string, LoadedSkill>()
  for (const folder of folders) for (const skill of skillsIn(folder, problems)) byName.set(nameOf(skill), skill)
  const sorted = [...byName.values()].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  for (const { at } of sorted.slice(maxSkills))
    problems.push({ path: at, problem: `is left out: an agent has at most ${maxSkills} skills` })
  const skills = new Map(sorted.slice(0, maxSkills).map((skill) => [nameOf(skill), skill]))
  for (const skill of skills.values()) problems.push(...importProblems(skill, skills))
  const summaries = [...skills.values()].filter(isListed).map((skill) => summaryOf(skill, skills))
  return {
    problems,
    list: () => summaries,
    async read(path, { hasTool = () => true }) {
      const skill = find(path, skills)
      return skill && canUse(skill, hasTool) ? compose(skill, skills, hasTool) : undefined
    },
  }
}

/**
 * The result if the package that parses YAML is missing: no skills. If only built-in skills are missing, nothing is reported, because the
 * operator has not asked for them.
 */
function withoutYaml(folders: readonly SkillFolder[]): FolderSkills {
  const own = folders.filter(({ builtIn }) => !builtIn)
  const problem = `can not be read: ${missingPackageText('yaml')}`
  return { problems: own.map(({ path }) => ({ path, problem })), list: () => [], read: async () => undefined }
}

const nameOf = ({ namespace, id }: Pick<SkillFile, 'namespace' | 'id'>): string => `${namespace}.${id}`
const isListed = ({ namespace, hidden }: LoadedSkill): boolean => namespace !== 'internal' && !hidden

/** The skills of one folder. If two skills have the same name, the skill whose path comes first is kept. */
function skillsIn(folder: SkillFolder, problems: SkillProblem[]): readonly LoadedSkill[] {
  const placed = ({ path, problem }: SkillProblem) => problems.push({ path: join(folder.path, path), problem })
  const names = new Map<string, string>()
  return findSkillFiles(folder.path, placed).flatMap((files) => {
    const skill = parseFiles(files, folder, placed)
    if (skill === undefined) return []
    const other = names.get(nameOf(skill))
    if (other !== undefined) {
      placed({ path: files.path, problem: `is left out: ${other} has the same name ${nameOf(skill)}` })
      return []
    }
    names.set(nameOf(skill), files.path)
    return [skill]
  })
}

function parseFiles(files: SkillFiles, folder: SkillFolder, report: (problem: SkillProblem) => void): LoadedSkill | undefined {
  const parsed = parseSkillFile(files.skill, files, files.tools)
  if (!parsed.ok) {
    report({ path: join(files.path, 'SKILL.md'), problem: parsed.problem })
    return undefined
  }
  const { sources, problems } = files.sources === undefined ? { sources: [], problems: [] } : parseSourcesFile(files.sources)
  for (const problem of problems) report({ path: join(files.path, 'sources.yaml'), problem })
  return { ...parsed.value, sources, builtIn: folder.builtIn === true, at: join(folder.path, files.path) }
}

function importProblems(skill: LoadedSkill, skills: ReadonlyMap<string, LoadedSkill>): readonly SkillProblem[] {
  const unknown = skill.imports.filter((name) => !skills.has(name)).map((name) => `imports ${name}, which does not exist`)
  const isCyclic = skill.imports.some((name) => withImports(skills.get(name), skills).includes(skill))
  return [...unknown, ...(isCyclic ? ['imports itself through its imports, which has no effect'] : [])].map((problem) => ({
    path: skill.at,
    problem,
  }))
}

/**
 * The skill and all skills that it imports, directly and indirectly. Imported skills come first, and each skill occurs once. In a cycle of
 * imports, a skill that was already visited is not visited again.
 */
function withImports(skill: LoadedSkill | undefined, skills: ReadonlyMap<string, LoadedSkill>): readonly LoadedSkill[] {
  const ordered: LoadedSkill[] = []
  const seen = new Set<LoadedSkill>()
  const visit = (current: LoadedSkill | undefined): void => {
    if (current === undefined || seen.has(current) || seen.size > maxImports) return
    seen.add(current)
    for (const name of current.imports) visit(skills.get(name))
    ordered.push(current)
  }
  visit(skill)
  return ordered
}

function summaryOf(skill: LoadedSkill, skills: ReadonlyMap<string, LoadedSkill>): SkillSummary {
  const { description, version, category, tags, whenToUse, tools, builtIn } = skill
  return {
    path: pathOf(skill),
    description,
    ...(version !== undefined && { version }),
    ...(category !== undefined && { category }),
    tags,
    whenToUse,
    tools,
    tokens: withImports(skill, skills).reduce((sum, { body }) => sum + roughTokens(body), 0),
    ...(builtIn && { builtIn }),
  }
}

/** The path of a skill in the timeline. The path of a hidden skill does not contain its name. */
const pathOf = (skill: LoadedSkill): string =>
  skill.hidden ? `sk:hidden-guidance-${createHash('sha256').update(nameOf(skill)).digest('hex').slice(0, 10)}` : `sk:${nameOf(skill)}`

function find(path: string, skills: ReadonlyMap<string, LoadedSkill>): LoadedSkill | undefined {
  const parsed = parsePath(path)
  if (parsed?.space !== 'sk' || parsed.kind === 'listed') return undefined
  return parsed.kind === 'named' ? skills.get(nameOf(parsed)) : [...skills.values()].find((skill) => pathOf(skill) === path)
}

const canUse = ({ tools }: LoadedSkill, hasTool: (id: string) => boolean): boolean =>
  tools.every(({ id, required }) => !required || hasTool(id))

/** The text of a skill with all that it imports. The citations of each part get new numbers, so that no two parts use the same number. */
function compose(skill: LoadedSkill, skills: ReadonlyMap<string, LoadedSkill>, hasTool: (id: string) => boolean): Skill {
  const sources: SkillSource[] = []
  const parts = withImports(skill, skills)
    .filter((part) => canUse(part, hasTool))
    .map((part) => {
      const numbers = new Map<number, number>()
      for (const source of part.sources) {
        sources.push({ ...source, sid: sources.length + 1 })
        numbers.set(source.sid, sources.length)
      }
      return `${headingOf(part)}\n\n${rewriteSids(part.body, numbers)}`
    })
  return { path: pathOf(skill), text: ['ACTIVE 💡[ACTIVE SKILLS]', ...parts].join('\n\n'), sources }
}

const headingOf = (skill: LoadedSkill): string => {
  const name = skill.hidden ? 'guidance' : `${nameOf(skill)}${skill.version === undefined ? '' : ` v${skill.version}`}`
  return `💡 [SKILL] ${name}`
}
