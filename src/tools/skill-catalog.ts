import { parsePath } from '../core/path/logical.ts'
import { oneLine } from '../core/render/text.ts'
import type { SkillSummary, Skills } from '../ports/skills.ts'
import type { Tool } from './tool.ts'

/** The skills that an agent with certain tools can use. */
export interface UsableSkills extends Skills {
  list(): readonly SkillSummary[]
}

/** The skills for the system text. Empty for an agent that can not read them. */
export const listedSkills = (skills: UsableSkills | undefined, tools: readonly Pick<Tool, 'id'>[]): readonly SkillSummary[] =>
  tools.some(({ id }) => id === 'react.read') ? (skills?.list() ?? []) : []

/**
 * Leaves out the skills that need a tool which the agent lacks. `sk:SK2` and `sk:2` are the second skill of the list. `tools` is called when
 * a skill is listed or read: the tools of an agent are not all known when the tool that reads skills is made. `mayHave` says whether a tool may
 * be added later, by an MCP server. So the list does not depend on whether a server answers.
 */
export function usableSkills(
  skills: Skills,
  tools: () => readonly Pick<Tool, 'id'>[],
  mayHave: (id: string) => boolean = () => false,
): UsableSkills {
  const hasTool = (id: string) => {
    const prefix = id.endsWith('.*') ? id.slice(0, -1) : undefined // all tools of a namespace
    return mayHave(id) || tools().some((tool) => (prefix === undefined ? tool.id === id : tool.id.startsWith(prefix)))
  }
  const isUsable = ({ tools }: SkillSummary) => tools.every(({ id, required }) => !required || hasTool(id))
  const list = () => skills.list?.().filter(isUsable) ?? []
  return {
    list,
    async read(path, call) {
      const parsed = parsePath(path)
      const listed = parsed?.space === 'sk' && parsed.kind === 'listed' ? list()[parsed.number - 1]?.path : path
      return listed === undefined ? undefined : skills.read(listed, { ...call, hasTool })
    },
  }
}

/**
 * The list of skills in the system text. The same skills must always give exactly the same text. What a skill says about itself comes from
 * a file, so each value stays on the line of its label and is shortened.
 */
export function skillCatalogText(skills: readonly SkillSummary[]): string {
  if (skills.length === 0) return ''
  const count = `${skills.length} ${skills.length === 1 ? 'skill' : 'skills'}`
  const rules = `${count}. A skill is guidance for one kind of work. Before you begin work that a skill describes, load it with react.read(["sk:…"]); it takes effect in the next round. Load only what the request needs, and each skill once.`
  return ['[SKILL CATALOG]', rules, ...skills.map((skill, index) => `\n${skillText(skill, index + 1)}`)].join('\n')
}

function skillText(
  { path, description, version, category, tags, whenToUse, tools, tokens, builtIn }: SkillSummary,
  number: number,
): string {
  const kind = [category, ...tags].filter((tag) => tag !== undefined).slice(0, maxTags)
  return [
    `📦 [SK${number}] ${path}${builtIn ? ' [Built-in]' : ''}${version === undefined ? '' : ` v${oneLine(version, 20)}`}`,
    `purpose: ${oneLine(description, 400)}`,
    ...(kind.length > 0 ? [`about: ${kind.map((tag) => oneLine(tag, 40)).join(', ')}`] : []),
    `size: ${tokens} tokens`,
    ...tools.slice(0, maxTools).map(({ id, why }) => `tool: ${oneLine(id, 80)}${why === undefined ? '' : ` — ${oneLine(why, 120)}`}`),
    ...whenToUse.slice(0, maxUses).map((use) => `when: ${oneLine(use, 160)}`),
  ].join('\n')
}

const maxTags = 8
const maxTools = 8
const maxUses = 5
