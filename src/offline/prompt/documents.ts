import { isObject, type JsonObject, parseJson } from '../../core/json.ts'
import type { BinaryPart } from '../../core/render/types.ts'
import type { PromptEntry } from './entries.ts'
import { type CitableSource, sidOf } from './sections.ts'

/** A file that the prompt speaks of. */
export interface Document {
  readonly path: string
  readonly name: string
  readonly mime: string
  readonly turnId: string
  readonly origin: 'attached' | 'knowledge' | 'made'
  readonly sid: number | undefined
  /** What is in sight of its text, in the order of its lines; none when it was not read yet. */
  readonly windows: readonly TextWindow[]
  /** Its bytes, when they are shown. */
  readonly part: BinaryPart | undefined
}

export const isTable = ({ mime, name }: Pick<Document, 'mime' | 'name'>): boolean =>
  mime === 'text/csv' || mime === 'text/tab-separated-values' || /\.(?:csv|tsv)$/i.test(name)

export const isPdf = ({ mime }: Pick<Document, 'mime'>): boolean => mime === 'application/pdf'

/** May be read as words. */
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
  made: boolean
}

/** Every file that was attached, read or written, oldest first. What was folded away since is out of sight again. */
export function collectDocuments(entries: readonly PromptEntry[], sources: readonly CitableSource[]): readonly Document[] {
  const seen = new Map<string, DocumentState>()
  let turnId = ''
  const at = (path: string): DocumentState => {
    const known = seen.get(path) ?? { path, turnId: turnIdOf(path) ?? turnId, windows: [], made: /\.(?:files|outputs)\//.test(path) }
    seen.set(path, known)
    return known
  }
  for (const entry of entries) {
    if (entry.kind === 'turn') turnId = entry.turnId
    else if (entry.kind === 'attached') Object.assign(at(entry.path), { name: entry.name, mime: entry.mime })
    else if (entry.kind === 'text') at(entry.path).windows = [parseWindow(entry.text)]
    else if (entry.kind === 'bytes' && entry.path !== undefined) at(entry.path).part = entry.part
    else if (entry.kind === 'summary') for (const { path, mime } of attachmentsInSummary(entry.text)) at(path).mime ??= mime
    else if (entry.kind === 'folded' && isFile(entry.path)) hideContent(at(entry.path), entry.mime)
    else if (entry.kind === 'result' && entry.path !== undefined && isFile(entry.path) && isContent(entry))
      showContent(at(entry.path), entry.body)
  }
  for (const { place, mime } of sources) if (isAttachment(place)) at(place).mime ??= mime
  return [...seen.values()].map((sight) => documentOf(sight, sources))
}

/** A summary, and the pool, still name what was sent in turns that can not be seen any more. */
const isAttachment = (path: string) => /^fi:[\w-]+\.user\.attachments\/[^…]+$/.test(path)

function attachmentsInSummary(summary: string): readonly { readonly path: string; readonly mime: string }[] {
  return [...summary.matchAll(/^- (fi:\S+) \| (\S+\/\S+)/gm)]
    .map(([, path, mime]) => ({ path: path as string, mime: mime as string }))
    .filter(({ path }) => isAttachment(path))
}

const isFile = (path: string) => /^(?:fi|ks):/.test(path)

const isContent = ({ form, shown, body }: Extract<PromptEntry, { kind: 'result' }>) =>
  (form === 'artifact' || form === 'result') && shown === undefined && !body.startsWith('[NOT ATTACHED]') && !body.startsWith('[TOO LARGE')

function hideContent(sight: DocumentState, mime: string | undefined): void {
  sight.windows = []
  delete sight.part
  if (mime !== undefined) sight.mime ??= mime
}

/** Pieces are kept side by side; the same piece again takes the place of the older one. */
function showContent(sight: DocumentState, body: string): void {
  const window = parseWindow(body.replace(/^mime: .*\npayload:\n/, ''))
  const whole = window.first === 1 && window.next === undefined
  const others = whole ? [] : sight.windows.filter(({ first }) => first !== window.first)
  sight.windows = [...others, window].sort((a, b) => a.first - b.first)
}

const turnIdOf = (path: string) => /^fi:(.+?)\.(?:user\.attachments|files|outputs)\//.exec(path)?.[1]

function documentOf({ path, name, mime, turnId, windows, part, made }: DocumentState, sources: readonly CitableSource[]): Document {
  const own = name ?? path.slice(Math.max(path.lastIndexOf('/'), path.indexOf(':')) + 1)
  return {
    path,
    name: own,
    mime: mime ?? part?.media_type ?? 'text/plain',
    turnId,
    origin: path.startsWith('ks:') ? 'knowledge' : made ? 'made' : 'attached',
    sid: sidOf(path, sources),
    windows,
    part,
  }
}

/** A piece of a text file, by its lines. */
export interface TextWindow {
  readonly text: string
  readonly first: number
  readonly total: number
  /** What to ask `react.read` for to see what follows. */
  readonly next: JsonObject | undefined
}

/** What `react.read` shows of a text: the whole, or a window that says where it stands. */
export function parseWindow(body: string): TextWindow {
  const head =
    /^\[READ (?:RANGE|PREVIEW)\]\npath: .*\n(?:lines: \[(\d+)-\d+\]\/(\d+)\npartial_line: \w+|symbols: \[(\d+)-\d+\]\/(\d+))\n/.exec(body)
  if (!head) return wholeText(body)
  const [all, first, lines] = head
  const foot = /\nomitted: .*\ncontinue: react\.read\((.*)\)$/.exec(body)
  const shown = body.slice(all.length, foot?.index)
  const numbered = first !== undefined && shown.split('\n').every((line) => /^\s*\d+\t/.test(line))
  return {
    text: numbered ? shown.replace(/^\s*\d+\t/gm, '') : shown,
    first: Number(first ?? 1),
    total: Number(lines ?? 0),
    next: nextOf(foot?.[1]),
  }
}

function wholeText(body: string): TextWindow {
  const text = body.replace(/\n\.\.\.\[truncated, \d+ of \d+ characters shown.*\]$/, '')
  return { text, first: 1, total: text.split('\n').length, next: undefined }
}

/** Words that only look like ours give nothing to go on with. */
function nextOf(call: string | undefined): TextWindow['next'] {
  const params = parseJson(call)
  const item = isObject(params) && Array.isArray(params.items) ? params.items[0] : undefined
  return isObject(item) ? (item as JsonObject) : undefined
}
