import { z } from 'zod'
import { isId } from '../../core/path/safety.ts'
import { parseSkill } from '../../core/path/skill.ts'
import { type IncomingSource, parseToolSource, sidOf } from '../../core/sources/source.ts'
import type { SkillTool } from '../../ports/skills.ts'
import { parseYaml } from './yaml.ts'

/** A skill as its files describe it. */
export interface SkillFile {
  readonly namespace: string
  readonly id: string
  readonly name: string
  readonly description: string
  readonly version?: string
  readonly category?: string
  readonly tags: readonly string[]
  readonly whenToUse: readonly string[]
  readonly tools: readonly SkillTool[]
  /** The skills that this skill builds on, as `namespace.id`. */
  readonly imports: readonly string[]
  /** True when the agent must not see the name of the skill. The skill is then not listed. */
  readonly hidden: boolean
  readonly body: string
}

/** The result of reading a file that may be invalid. A problem is the end of a sentence whose subject is the name of the file. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string }

const invalid = (problem: string) => ({ ok: false, problem }) as const

/**
 * The front matter may have at most this many characters, because hostile YAML takes quadratic time. The rest of the file is the text of
 * the skill.
 */
const maxFrontMatter = 16_384

const text = z.string().trim()
const filled = text.min(1)
/** One text, texts with commas between them, or a list of texts. */
const texts = (separator?: string) =>
  z
    .union([z.array(filled), text.transform((value) => (separator === undefined ? [value] : value.split(separator)))])
    .transform((list) => list.map((item) => item.trim()).filter((item) => item !== ''))

const required = z.enum(['true', 'yes', 'false', 'no'], 'must be true or false').transform((value) => value === 'true' || value === 'yes')
const tool = z
  .union([filled, z.object({ id: filled, why: text.optional(), role: text.optional(), required: required.default(true) })])
  .transform((value): SkillTool => {
    if (typeof value === 'string') return { id: value, required: true }
    const why = value.why ?? value.role
    return { id: value.id, required: value.required, ...(why && { why }) }
  })
const tools = z.union([z.array(tool), texts(',').transform((ids) => ids.map((id): SkillTool => ({ id, required: true })))])

const frontMatter = z.object({
  name: filled.optional(),
  id: filled.optional(),
  namespace: filled.optional(),
  description: filled,
  version: text.optional(),
  category: text.optional(),
  tags: texts(',').default([]),
  when_to_use: texts().default([]),
  tools: tools.optional(),
  import: texts(',').optional(),
  imports: texts(',').optional(),
  agent_disclosure: z.enum(['normal', 'hidden'], 'must be normal or hidden').default('normal'),
})

/** Where a skill was found. The names in it are used if the front matter contains no other names. */
export interface SkillPlace {
  readonly folder: string
  readonly namespace?: string
}

/** Parses a `SKILL.md`. `toolsFile` is the text of `tools.yaml`, which is used if the front matter names no tools. */
export function parseSkillFile(content: string, place: SkillPlace, toolsFile?: string): Parsed<SkillFile> {
  const split = splitFrontMatter(content)
  if (!split.ok) return split
  const yaml = parseYaml(split.value.head)
  if ('problem' in yaml) return invalid(`has front matter that ${yaml.problem}`)
  const parsed = frontMatter.safeParse(yaml.value ?? {})
  if (!parsed.success) return invalid(`has invalid front matter: ${problemsOf(parsed.error)}`)
  const value = parsed.data
  const listed = value.tools ? ({ ok: true, value: value.tools } as const) : parseToolsFile(toolsFile)
  if (!listed.ok) return listed
  const namespace = value.namespace ?? place.namespace ?? 'public'
  const id = value.id ?? place.folder
  const unusable = unusableName(namespace, id)
  if (unusable !== undefined) return invalid(unusable)
  return {
    ok: true,
    value: {
      namespace,
      id,
      name: value.name ?? id,
      description: value.description,
      ...(value.version && { version: value.version }),
      ...(value.category && { category: value.category }),
      tags: value.tags,
      whenToUse: value.when_to_use,
      tools: listed.value,
      imports: [...(value.imports ?? []), ...(value.import ?? [])].map(fullName),
      hidden: value.agent_disclosure === 'hidden',
      body: split.value.body,
    },
  }
}

/** Why a skill can not have this name. A number is not allowed, because it would be read as a position in the catalogue. */
function unusableName(namespace: string, id: string): string | undefined {
  if (!isId(namespace)) return 'has a namespace with other characters than letters, digits, "_" and "-"'
  if (!isId(id)) return 'has an id with other characters than letters, digits, "_" and "-"'
  return parseSkill(id)?.kind === 'named' ? undefined : 'has an id that looks like a number of the catalogue'
}

/**
 * The full name of an imported skill: `charts` is `public.charts`, and a prefix `sk:` is left out. A name that no skill can have is
 * returned as it is.
 */
function fullName(name: string): string {
  const parsed = parseSkill(name.startsWith('sk:') ? name.slice(3) : name)
  return parsed?.kind === 'named' ? `${parsed.namespace}.${parsed.id}` : name
}

function splitFrontMatter(content: string): Parsed<{ readonly head: string; readonly body: string }> {
  const lines = content.split('\n')
  const isFence = (line: string | undefined) => line?.trimEnd() === '---'
  if (!isFence(lines[0])) return invalid('must begin with front matter between two lines ---')
  const end = lines.findIndex((line, index) => index > 0 && isFence(line))
  if (end === -1) return invalid('has front matter that does not end with a line ---')
  const head = lines.slice(1, end).join('\n')
  if (head.length > maxFrontMatter) return invalid(`has front matter with more than ${maxFrontMatter} characters`)
  const body = lines
    .slice(end + 1)
    .join('\n')
    .trim()
  return body === '' ? invalid('has no text below its front matter') : { ok: true, value: { head, body } }
}

function parseToolsFile(content: string | undefined): Parsed<readonly SkillTool[]> {
  if (content === undefined) return { ok: true, value: [] }
  const yaml = parseYaml(content)
  if ('problem' in yaml) return invalid(`has a tools.yaml that ${yaml.problem}`)
  const parsed = z.object({ tools: z.array(tool) }).safeParse(yaml.value)
  return parsed.success ? { ok: true, value: parsed.data.tools } : invalid(`has an invalid tools.yaml: ${problemsOf(parsed.error)}`)
}

/** A source that a skill cites. Its `sid` is its number in the citations of the skill. */
export type SkillSource = IncomingSource & { readonly sid: number }

/** Parses a `sources.yaml`. A row is left out and named in `problems` if it has no address, or if an earlier row has the same number. */
export function parseSourcesFile(content: string): { readonly sources: readonly SkillSource[]; readonly problems: readonly string[] } {
  const yaml = parseYaml(content)
  if ('problem' in yaml) return { sources: [], problems: [yaml.problem] }
  const rows = z.object({ sources: z.array(z.unknown()).max(500) }).safeParse(yaml.value)
  if (!rows.success) return { sources: [], problems: ['must have a list "sources" with at most 500 rows'] }
  const sources: SkillSource[] = []
  const problems: string[] = []
  for (const [index, row] of rows.data.sources.entries()) {
    const sid = sidOf((row as { readonly sid?: unknown } | null)?.sid) ?? index + 1
    const source = parseToolSource(row)
    if (source === undefined) problems.push(`row ${index + 1} has no address`)
    else if (sources.some((other) => other.sid === sid)) problems.push(`row ${index + 1} has the number ${sid} of an earlier row`)
    else sources.push({ ...source, sid })
  }
  return { sources, problems }
}

const problemsOf = (error: z.ZodError): string =>
  error.issues
    .slice(0, 3)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join('; ')
