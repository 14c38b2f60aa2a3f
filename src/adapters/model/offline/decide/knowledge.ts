import { isObject, parseJson } from '../../../../core/json.ts'
import type { Decision } from '../../../../offline/decide/decision.ts'
import { canCall, wasCalled } from '../../../../offline/decide/plan.ts'
import type { Situation } from '../../../../offline/prompt/situation.ts'
import { contentWords } from '../../../../offline/text/words.ts'

const maxKnowledgePages = 2

/** A search of the knowledge space, then the best of what it found. Undefined when there is none, or it was done. */
export function searchKnowledge(situation: Situation): Decision | undefined {
  const { calls, request } = situation
  if (!canCall(situation, 'react.search_knowledge') || contentWords(request).length === 0) return undefined
  if (!wasCalled(situation, 'react.search_knowledge')) {
    return {
      kind: 'call',
      thinking: 'What I see does not answer this; I search the knowledge space.',
      notes: 'I search the knowledge space.',
      toolId: 'react.search_knowledge',
      params: { query: request.slice(0, 300) },
    }
  }
  const body = calls.find(({ toolId }) => toolId === 'react.search_knowledge')?.results[0]?.body
  const hits = parseJson(body?.replace(/^mime: .*\npayload:\n/, ''))
  const paths = (Array.isArray(hits) ? hits : []).filter(isObject).flatMap(({ path }) => (typeof path === 'string' ? [path] : []))
  const read = new Set(calls.flatMap(({ params }) => (Array.isArray(params?.paths) ? params.paths : [])))
  const wanted = paths.slice(0, maxKnowledgePages).filter((path) => !read.has(path))
  if (wanted.length === 0 || !canCall(situation, 'react.read')) return undefined
  return {
    kind: 'call',
    thinking: 'The search named pages; I read the best of them.',
    notes: `I read ${wanted.join(', ')}.`,
    toolId: 'react.read',
    params: { paths: wanted },
  }
}
