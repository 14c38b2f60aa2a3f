import type { Scope } from '../core/scope.ts'
import type { IncomingSource } from '../core/sources/source.ts'

/** Reads `sk:` paths. A skill is guidance for one kind of work, written by the operator of the agent. */
export interface Skills {
  /**
   * The skills that the system text lists. The list must not change while the agent exists, because another list would invalidate the
   * provider's cache. If this function is missing, no skill is listed, and the agent can read only skills whose paths it knows from
   * elsewhere.
   */
  list?(): readonly SkillSummary[]
  read(path: string, call: SkillCall): Promise<Skill | undefined>
  /**
   * What has changed since the list was made, one sentence each. The announce shows these sentences to the model, because the list in the
   * system text does not change.
   */
  changes?(): readonly string[]
}

/** Who reads a skill. */
export interface SkillCall {
  readonly scope: Scope
  readonly signal: AbortSignal
  /**
   * Whether the agent has this tool, or any tool of a namespace such as `mcp.github.*`. A skill that needs a tool which the agent lacks is
   * not read. Undefined means that the agent has all tools.
   */
  readonly hasTool?: (id: string) => boolean
}

/** A skill: instructions for the agent. */
export interface Skill {
  /** The canonical path of the skill, even if it was read by another path. */
  readonly path: string
  readonly text: string
  /** The sources that the text cites. The `sid` of a source is its number in the citations of the text. */
  readonly sources?: readonly (IncomingSource & { readonly sid: number })[]
}

/** What the system text says about a skill. The texts may come from files of others, so each text is shown on one line and shortened. */
export interface SkillSummary {
  /** The canonical path, such as `sk:public.report-writing`. */
  readonly path: string
  readonly description: string
  readonly version?: string
  readonly category?: string
  readonly tags: readonly string[]
  readonly whenToUse: readonly string[]
  readonly tools: readonly SkillTool[]
  /** The tokens of the text, as an estimate. */
  readonly tokens: number
  /** True for a skill that is part of Daybook. */
  readonly builtIn?: true
}

/** A tool that a skill uses. */
export interface SkillTool {
  /** The id of a tool, or all tools of a namespace: `rendering_tools.*`. */
  readonly id: string
  readonly why?: string
  /** Whether the skill needs the tool. An agent that lacks the tool neither lists nor reads the skill. */
  readonly required: boolean
}

/** Paths of folders, relative to the current folder, or `file:` URLs. */
export type FolderList = readonly (string | URL)[]
