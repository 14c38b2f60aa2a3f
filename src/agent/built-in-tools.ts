import { checkoutTool } from '../tools/react/checkout.ts'
import { hideTool } from '../tools/react/hide.ts'
import { createMemsearchTool, type MemorySearch } from '../tools/react/memsearch.ts'
import { patchTool } from '../tools/react/patch.ts'
import { planTool } from '../tools/react/plan.ts'
import { pullTool } from '../tools/react/pull.ts'
import { createReadTool, type ReadOptions } from '../tools/react/read.ts'
import { searchFilesTool } from '../tools/react/search-files.ts'
import { createSearchKnowledgeTool, type KnowledgeSearch } from '../tools/react/search-knowledge.ts'
import { writeTool } from '../tools/react/write.ts'
import type { Tool } from '../tools/tool.ts'

/** What some of them need; those that have nothing to work with do not exist. */
export interface BuiltInOptions extends Pick<ReadOptions, 'knowledge' | 'skills' | 'documents'> {
  readonly memory?: MemorySearch
  readonly knowledgeSearch?: KnowledgeSearch
  /** A read may fill a good part of it, and no more. */
  readonly contextTokens?: number
}

/** The `react.*` tools of every agent, in the order in which the catalogue lists them. */
export function builtInTools({ memory, knowledgeSearch, contextTokens, ...spaces }: BuiltInOptions = {}): readonly Tool[] {
  return [
    createReadTool({ ...spaces, ...(contextTokens !== undefined && { limits: { tokens: readTokenLimit(contextTokens) } }) }),
    writeTool,
    patchTool,
    pullTool,
    checkoutTool,
    ...(memory ? [createMemsearchTool(memory)] : []),
    hideTool,
    searchFilesTool,
    ...(knowledgeSearch ? [createSearchKnowledgeTool(knowledgeSearch)] : []),
    planTool,
  ]
}

const readTokenLimit = (contextTokens: number) => Math.min(12_000, Math.max(4_000, Math.floor(contextTokens * 0.15)))
