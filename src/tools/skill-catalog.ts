import { parsePath } from '../core/path/logical.ts'
import { oneLine } from '../core/render/text.ts'
import type { SkillCall, SkillSummary, Skills } from '../ports/skills.ts'
import type { Tool } from './tool.ts'

/** The skills that an agent with certain tools can use. */
export interface UsableSkills extends Skills {
  list(hasTool?: HasTool): readonly SkillSummary[]
}

/** Whether an agent has the tool with an id, or any tool of a namespace such as `mcp.github.*`. */
export type HasTool = NonNullable<SkillCall['hasTool']>

/**
 * Makes a function that tells whether a list of tools has a tool. `silentServers` are MCP servers that have not answered. The tools of
 * these servers are not known, so every id of their namespaces is treated as a tool that the agent has.
 */
export function toolLookup(tools: () => readonly Pick<Tool, 'id'>[], silentServers: readonly string[] = []): HasTool {
  return (id) => {
    const prefix = id.endsWith('.*') ? id.slice(0, -1) : undefined // all tools of a namespace
    if (silentServers.some((server) => id === 'mcp.*' || id.startsWith(`mcp.${server}.`))) return true
    return tools().some((tool) => (prefix === undefined ? tool.id === id : tool.id.startsWith(prefix)))
  }
}

/** The skills for the system text of an agent with these tools. Empty for an agent that can not read skills. */
export const listedSkills = (skills: UsableSkills | undefined, hasTool: HasTool): readonly SkillSummary[] =>
  hasTool('react.read') ? (skills?.list(hasTool) ?? []) : []

/**
 * The skills without those that need a tool which the agent lacks. `sk:SK2` and `sk:2` are the second skill of the list. A turn of an agent
 * with MCP servers passes `hasTool`, which knows the tools of this turn. For other agents, `ownTools` is used. `ownTools` is not called
 * before a skill is listed or read, because not all tools of an agent are known when `usableSkills` is called.
 */
export function usableSkills(skills: Skills, ownTools: HasTool): UsableSkills {
  const list = (hasTool = ownTools) =>
    skills.list?.().filter(({ tools }) => tools.every(({ id, required }) => !required || hasTool(id))) ?? []
  return {
    list,
    async read(path, call) {
      const { hasTool = ownTools } = call
      const parsed = parsePath(path)
      const listed = parsed?.space === 'sk' && parsed.kind === 'listed' ? list(hasTool)[parsed.number - 1]?.path : path
      return listed === undefined ? undefined : skills.read(listed, { ...call, hasTool })
    },
  }
}

/**
 * The list of skills in the system text. The same skills must always give exactly the same text. The values come from files that anyone may
 * have written. Therefore each value is shortened to one line and shown after a label.
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
