import { cutAt } from '../../core/cut.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { type CallRecord, parsePayload, type Situation } from '../prompt/situation.ts'
import { rankPassages } from '../text/rank.ts'
import { contentWords } from '../text/words.ts'
import type { Decision } from './decision.ts'
import type { OpenDocument } from './open-documents.ts'
import { canCall, wasCalled } from './plan.ts'

/**
 * The prompt may show at most this many windows of one document. A window is the part of a document that one `react.read` shows. More
 * windows would fill the context.
 */
const maxWindows = 4

/**
 * The decision to read more of a document that the prompt shows only in part. If there is no answer so far, the model searches the document
 * and reads the lines around the matches. If this is not possible, it reads the next window. A table is read further even if there is an
 * answer, because a sum over some of its rows is wrong.
 */
export function readMore(situation: Situation, documents: readonly OpenDocument[], hasAnswer: boolean): Decision | undefined {
  const long = hasAnswer || situation.announce.roundsLeft < 4 ? [] : documents.filter(({ partial }) => partial)
  for (const document of long) {
    const search = searchText(situation, document)
    if (search) return search
  }
  const wanted = documents.find(({ windows, table }) => {
    const next = windows.at(-1)?.next
    return next !== undefined && windows.length < maxWindows && (!hasAnswer || table !== undefined) && !alreadyRead(situation, next)
  })
  const next = wanted?.windows.at(-1)?.next
  if (!wanted || !next || situation.announce.roundsLeft < 3 || !canCall(situation, 'react.read')) return undefined
  return {
    kind: 'call',
    thinking: `I have seen only a part of ${wanted.name}, so I go on reading.`,
    notes: `I read on in ${wanted.name}.`,
    toolId: 'react.read',
    params: { paths: [wanted.path], items: [next] },
  }
}

const alreadyRead = ({ calls }: Situation, next: object) =>
  calls.some(({ params }) => JSON.stringify(params?.items ?? null) === JSON.stringify([next]))

const searchTool = 'react.search_files'
const maxMatches = 12
const maxMatchesRead = 3

/**
 * The decision to search a long text for the words of the request, or to read the lines around the best matches. Undefined when both calls
 * were made, or when the text can not be searched.
 */
function searchText(situation: Situation, document: OpenDocument): Decision | undefined {
  const physical = toPhysical(document.path)
  if (physical === undefined || document.table || !canCall(situation, searchTool)) return undefined
  const search = situation.calls.find(({ toolId, params }) => toolId === searchTool && params?.root === folderOf(physical))
  return search ? readAround(situation, document, search) : startSearch(situation, document, physical)
}

const folderOf = (physical: string) => physical.slice(0, physical.lastIndexOf('/'))
const escapeRegex = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

/**
 * Searches for the words of the request that do not occur in the visible text. A word that occurs in the visible text would probably match
 * in many places of the document.
 */
function startSearch({ request }: Situation, { name, passages }: OpenDocument, physical: string): Decision | undefined {
  const wanted = contentWords(request).filter(({ stem }) => stem.length >= 3)
  const visible = new Set(passages.flatMap(({ text }) => contentWords(text).map(({ stem }) => stem)))
  const missing = wanted.filter(({ stem }) => !visible.has(stem))
  const words = (missing.length > 0 ? missing : wanted).slice(0, 8).map(({ text }) => escapeRegex(text))
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
      max_matches: maxMatches,
      max_bytes: 16 * 1024 * 1024,
    },
  }
}

function readAround(situation: Situation, { name, path }: OpenDocument, search: CallRecord): Decision | undefined {
  const matches = parseMatches(search)
  const passages = matches.map(({ preview, line }, index) => ({ text: preview, headings: [], line, index }))
  const items = rankPassages(situation.request, passages)
    .slice(0, maxMatchesRead)
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
  const payload = parsePayload(results[0])
  const hits = isObject(payload) && Array.isArray(payload.hits) ? payload.hits.filter(isObject) : []
  return hits
    .flatMap(({ matches }) => (Array.isArray(matches) ? matches.filter(isObject) : []))
    .flatMap(({ line, preview, read_item: item }) =>
      typeof line === 'number' && typeof preview === 'string' && isObject(item) ? [{ line, preview, item: item as JsonObject }] : [],
    )
}

const maxKnowledgePages = 2

/**
 * The decision to search the knowledge space, or to read the best pages that were found. Undefined when there is no knowledge space, or
 * when both calls were made.
 */
export function searchKnowledge(situation: Situation): Decision | undefined {
  const { calls, request } = situation
  if (!canCall(situation, 'react.search_knowledge') || contentWords(request).length === 0) return undefined
  if (!wasCalled(situation, 'react.search_knowledge')) {
    return {
      kind: 'call',
      thinking: 'What I see does not answer this; I search the knowledge space.',
      notes: 'I search the knowledge space.',
      toolId: 'react.search_knowledge',
      params: { query: cutAt(request, 300) },
    }
  }
  const hits = parsePayload(calls.find(({ toolId }) => toolId === 'react.search_knowledge')?.results[0])
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
