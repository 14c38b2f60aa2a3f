import { z } from 'zod'
import type { Json } from '../../core/json.ts'
import { canonicalPath } from '../../core/path/logical.ts'
import type { KnowledgeSearch } from '../../ports/knowledge.ts'
import { defineTool } from '../define.ts'
import { messageForModel } from '../invoke.ts'
import { failed, succeeded } from '../outcome.ts'
import type { Tool } from '../tool.ts'

const hitLimit = 50

const params = z.object({
  query: z.string().describe('what to look for'),
  root: z.string().default('ks:').describe('only below this ks: path'),
  max_hits: z.number().int().default(20).describe('how many hits, at most 50'),
  keywords: z.array(z.string()).optional().describe('words that must count more'),
})

/** The tool `react.search_knowledge`: searches the knowledge base. An agent has this tool only if the application supplies a search. */
export function createSearchKnowledgeTool(knowledge: KnowledgeSearch): Tool {
  return defineTool({
    id: 'react.search_knowledge',
    description: 'Search the knowledge space. Hits name ks: paths; react.read brings them into view.',
    params,
    strategy: 'exploration',
    repeatable: true,
    returns: 'ranked hits with path, title, summary and score',
    async run({ query, root, max_hits, keywords = [] }, call) {
      if (query.trim() === '') return failed('missing_query', 'Say what to look for.')
      if (!root.startsWith('ks:') || (root !== 'ks:' && canonicalPath(root.replace(/\/$/, '')) === undefined))
        return failed('bad_root', 'The root must be a ks: path.')
      const maxHits = Math.min(hitLimit, Math.max(1, max_hits))
      try {
        const hits = await knowledge.search({ query: query.trim(), root, maxHits, keywords }, call)
        const below = hits.filter(({ path }) => path.startsWith(root)).slice(0, maxHits)
        return succeeded({ output: below.map((hit) => hit as unknown as Json) }) // all fields are plain JSON
      } catch (error) {
        return failed('search_knowledge_failed', `The search did not work: ${messageForModel(error)} Go on without it, or try once more.`)
      }
    },
  })
}
