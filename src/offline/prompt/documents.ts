import { isObject, type JsonObject, parseJson } from '../../core/json.ts'
import type { BinaryPart } from '../../core/render/types.ts'
import { type PromptEntry, type ResultEntry, withoutPayloadHeader } from './entries.ts'
import { type CitableSource, sidOf } from './sections.ts'

/** A file that the prompt mentions, with the part of its content that the prompt shows. */
export interface Document {
  readonly path: string
  readonly name: string
  readonly mime: string
  readonly turnId: string
  readonly origin: 'attached' | 'knowledge' | 'made'
  /** The SID of the document. Undefined when it is not in the pool. */
  readonly sid: number | undefined
  /** The parts of the text that the prompt shows, in the order of their lines. Empty when the document was not read yet. */
  readonly windows: readonly TextWindow[]
  /** The part of the prompt that contains the bytes of the document. Undefined when there is no such part. */
  readonly part: BinaryPart | undefined
}

export const isTable = ({ mime, name }: Pick<Document, 'mime' | 'name'>): boolean =>
  mime === 'text/csv' || mime === 'text/tab-separated-values' || /\.(?:csv|tsv)$/i.test(name)

export const isPdf = ({ mime }: Pick<Document, 'mime'>): boolean => mime === 'application/pdf'

/** Whether the content of a document can be read as text. */
export const isReadable = (document: Pick<Document, 'mime' | 'name'>): boolean =>
  isPdf(document) ||
  isTable(document) ||
  /^text\/|^application\/(?:json|xml|yaml|x-yaml)$/.test(document.mime) ||
  /\.(?:md|txt|json|ya?ml|xml|html?)$/i.test(document.name)

interface DocumentState {
  path: string
  name?: string
  mime?: string
  turnId: string
  windows: TextWindow[]
  part?: BinaryPart
}

/**
 * Every file that was attached, read or written, oldest first. If the content of a file was hidden later, the file is listed without
 * content.
 */
export function collectDocuments(entries: readonly PromptEntry[], sources: readonly CitableSource[]): readonly Document[] {
  const states = new Map<string, DocumentState>()
  let turnId = ''
  const at = (path: string): DocumentState => {
    const state = states.get(path) ?? { path, turnId: turnIdOf(path) ?? turnId, windows: [] }
    states.set(path, state)
    return state
  }
  for (const entry of entries) {
    if (entry.kind === 'turn') turnId = entry.turnId
    else if (entry.kind === 'attachment') Object.assign(at(entry.path), { name: entry.name, mime: entry.mime })
    else if (entry.kind === 'attachment-text') at(entry.path).windows = [parseWindow(entry.text)]
    else if (entry.kind === 'bytes' && entry.path !== undefined) at(entry.path).part = entry.part
    else if (entry.kind === 'summary') for (const { path, mime } of attachmentsInSummary(entry.text)) at(path).mime ??= mime
    else if (entry.kind === 'hidden' && isFile(entry.path)) hideContent(at(entry.path), entry.mime)
    else if (entry.kind === 'result' && entry.path !== undefined && isFile(entry.path) && isContent(entry))
      showContent(at(entry.path), entry.body)
  }
  for (const { location, mime } of sources) if (isAttachment(location)) at(location).mime ??= mime
  const hits = collectHits(entries)
  return [...states.values()].map((state) => documentOf(state, sources, hits))
}

/** The data about the source of a document in the result of a search in the knowledge space. */
interface HitSource {
  readonly sid: number | undefined
  readonly url: string | undefined
}

/** The documents that searches in the knowledge space have found, by path. If a document has a `url`, its source is this address. */
function collectHits(entries: readonly PromptEntry[]): ReadonlyMap<string, HitSource> {
  const searches = new Set(
    entries.flatMap((entry) => (entry.kind === 'call' && entry.toolId === 'react.search_knowledge' ? [entry.callId] : [])),
  )
  const hits = new Map<string, HitSource>()
  for (const entry of entries) {
    if (entry.kind !== 'result' || !searches.has(entry.callId)) continue
    const rows = parseJson(withoutPayloadHeader(entry.body))
    for (const row of Array.isArray(rows) ? rows : []) {
      if (!isObject(row) || typeof row.path !== 'string') continue
      const { path, sid, url } = row
      hits.set(sourcePathOf(path), {
        sid: typeof sid === 'number' ? sid : undefined,
        url: typeof url === 'string' ? url : undefined,
      })
    }
  }
  return hits
}

/**
 * Whether a path is the path of an attachment. This check is for paths in summaries and in the pool, which also name attachments of turns
 * that the prompt no longer shows.
 */
const isAttachment = (path: string) => /^fi:[\w-]+\.user\.attachments\/[^…]+$/.test(path)

function attachmentsInSummary(summary: string): readonly { readonly path: string; readonly mime: string }[] {
  return [...summary.matchAll(/^- (fi:\S+) \| (\S+\/\S+)/gm)]
    .map(([, path, mime]) => ({ path: path as string, mime: mime as string }))
    .filter(({ path }) => isAttachment(path))
}

const isFile = (path: string) => /^(?:fi|ks):/.test(path)

const isContent = ({ form, attachmentNumber, body }: ResultEntry) =>
  (form === 'artifact' || form === 'result') &&
  attachmentNumber === undefined &&
  !body.startsWith('[NOT ATTACHED]') &&
  !body.startsWith('[TOO LARGE')

function hideContent(state: DocumentState, mime: string | undefined): void {
  state.windows = []
  delete state.part
  if (mime !== undefined) state.mime ??= mime
}

/**
 * Adds a window of text to a document. If an earlier window starts at the same line, the new window replaces it. If the new window has the
 * whole text, it replaces all other windows.
 */
function showContent(state: DocumentState, body: string): void {
  const window = parseWindow(withoutPayloadHeader(body))
  const whole = window.first === 1 && window.next === undefined
  const others = whole ? [] : state.windows.filter(({ first }) => first !== window.first)
  state.windows = [...others, window].sort((a, b) => a.first - b.first)
}

const turnIdOf = (path: string) => /^fi:(.+?)\.(?:user\.attachments|files|outputs)\//.exec(path)?.[1]

function documentOf(
  { path, name, mime, turnId, windows, part }: DocumentState,
  sources: readonly CitableSource[],
  hits: ReadonlyMap<string, HitSource>,
): Document {
  const { sid, url } = hits.get(sourcePathOf(path)) ?? {}
  const ofHit = url === undefined ? undefined : (sidOf(url, sources) ?? sources.find((source) => source.sid === sid)?.sid)
  return {
    path,
    name: name ?? path.slice(Math.max(path.lastIndexOf('/'), path.indexOf(':')) + 1),
    mime: mime ?? part?.media_type ?? 'text/plain',
    turnId,
    origin: path.startsWith('ks:') ? 'knowledge' : /\.(?:files|outputs)\//.test(path) ? 'made' : 'attached',
    sid: sidOf(sourcePathOf(path), sources) ?? ofHit,
    windows,
    part,
  }
}

/** The path of the source to which a path belongs. The sections of a document of the knowledge space are one source. */
const sourcePathOf = (path: string): string => (path.startsWith('ks:') ? (path.split('#', 1)[0] ?? path) : path)

/** Consecutive lines of a text file, as one `react.read` shows them. */
interface TextWindow {
  readonly text: string
  /** The number of the first line of the window, from 1. */
  readonly first: number
  /** How many lines the file has. */
  readonly total: number
  /** The item for the parameter `items` of `react.read` that shows the lines after this window. Undefined at the end of the file. */
  readonly next: JsonObject | undefined
}

/**
 * Parses the result of `react.read`. The result is the whole text, or a window with a header such as `[READ RANGE]` that contains its line
 * numbers.
 */
function parseWindow(body: string): TextWindow {
  const head =
    /^\[READ (?:RANGE|PREVIEW)\]\npath: .*\n(?:lines: \[(\d+)-\d+\]\/(\d+)\npartial_line: \w+|symbols: \[(\d+)-\d+\]\/(\d+))\n/.exec(body)
  if (!head) return wholeText(body)
  const [all, first, lines] = head
  const foot = /\nomitted: .*\ncontinue: react\.read\((.*)\)$/.exec(body)
  const shown = body.slice(all.length, foot?.index)
  const numbered = first !== undefined && shown.split('\n').every((line) => /^ *\d+\t/.test(line))
  return {
    text: numbered ? shown.replace(/^ *\d+\t/gm, '') : shown,
    first: Number(first ?? 1),
    total: Number(lines ?? 0),
    next: nextOf(foot?.[1]),
  }
}

function wholeText(body: string): TextWindow {
  const text = body.replace(/\n\.\.\.\[truncated, \d+ of \d+ characters shown.*\]$/, '')
  return { text, first: 1, total: text.split('\n').length, next: undefined }
}

/**
 * Reads the item for the next `react.read` in the last line of a window. Undefined when the line can not be parsed. The last line may also
 * be a line of the file that only looks like such a call.
 */
function nextOf(call: string | undefined): TextWindow['next'] {
  const params = parseJson(call)
  const item = isObject(params) && Array.isArray(params.items) ? params.items[0] : undefined
  return isObject(item) ? (item as JsonObject) : undefined
}
