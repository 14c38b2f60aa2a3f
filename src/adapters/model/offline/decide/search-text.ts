import { isObject, type JsonObject, parseJson } from '../../../../core/json.ts'
import { toPhysical } from '../../../../core/path/physical.ts'
import type { Decision } from '../../../../offline/decide/decision.ts'
import type { OpenDocument } from '../../../../offline/decide/open-documents.ts'
import { canCall } from '../../../../offline/decide/plan.ts'
import type { CallRecord, Situation } from '../../../../offline/prompt/situation.ts'
import { rankPassages } from '../../../../offline/text/rank.ts'
import { contentWords } from '../../../../offline/text/words.ts'

const searchTool = 'react.search_files'
const [mostMatches, mostRead] = [12, 3]

/** A text too long to read is searched for what was asked, then read around the best lines. Undefined when that is done or can not be. */
export function searchText(situation: Situation, document: OpenDocument): Decision | undefined {
  const physical = toPhysical(document.path)
  if (physical === undefined || document.table || !canCall(situation, searchTool)) return undefined
  const done = situation.calls.find(({ toolId, params }) => toolId === searchTool && params?.root === folderOf(physical))
  return done ? readAround(situation, document, done) : startSearch(situation, document, physical)
}

const folderOf = (physical: string) => physical.slice(0, physical.lastIndexOf('/'))
const escapeRegex = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

/** By the words that what is in sight does not have: the others would be found everywhere. */
function startSearch({ request }: Situation, { name, passages }: OpenDocument, physical: string): Decision | undefined {
  const asked = contentWords(request).filter(({ stem }) => stem.length >= 3)
  const seen = new Set(passages.flatMap(({ text }) => contentWords(text).map(({ stem }) => stem)))
  const unseen = asked.filter(({ stem }) => !seen.has(stem))
  const words = (unseen.length > 0 ? unseen : asked).slice(0, 8).map(({ text }) => escapeRegex(text))
  if (words.length === 0) return undefined
  return {
    kind: 'call',
    thinking: `${name} is too long to read at once, so I search it.`,
    notes: `I search ${name}.`,
    toolId: searchTool,
    params: {
      root: folderOf(physical),
      name_regex: `(?:^|/)${escapeRegex(name)}$`,
      pattern: `(?i:${words.join('|')})`,
      max_matches: mostMatches,
      max_bytes: 16 * 1024 * 1024,
    },
  }
}

function readAround(situation: Situation, { name, path }: OpenDocument, searched: CallRecord): Decision | undefined {
  const matches = parseMatches(searched)
  const passages = matches.map(({ preview, line }, index) => ({ text: preview, headings: [], line, index }))
  const items = rankPassages(situation.request, passages)
    .slice(0, mostRead)
    .flatMap(({ passage }) => matches[passage.index]?.item ?? [])
  const read = situation.calls.some(({ params }) => JSON.stringify(params?.items) === JSON.stringify(items))
  if (items.length === 0 || read || !canCall(situation, 'react.read')) return undefined
  return {
    kind: 'call',
    thinking: 'The search found lines; I read around them.',
    notes: `I read what was found in ${name}.`,
    toolId: 'react.read',
    params: { paths: [path], items },
  }
}

interface SearchMatch {
  readonly line: number
  readonly preview: string
  readonly item: JsonObject
}

function parseMatches({ results }: CallRecord): readonly SearchMatch[] {
  const payload = parseJson(results[0]?.body.replace(/^mime: .*\npayload:\n/, ''))
  const hits = isObject(payload) && Array.isArray(payload.hits) ? payload.hits.filter(isObject) : []
  return hits
    .flatMap(({ matches }) => (Array.isArray(matches) ? matches.filter(isObject) : []))
    .flatMap(({ line, preview, read_item: item }) =>
      typeof line === 'number' && typeof preview === 'string' && isObject(item) ? [{ line, preview, item: item as JsonObject }] : [],
    )
}
