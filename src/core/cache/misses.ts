import type { Block } from '../block/block.ts'
import { blocksOfChange, type Change } from '../timeline/change.ts'
import { firstDifference, type SentPrompt } from './recorded-calls.ts'
import type { ProviderCacheRules } from './rules.ts'

/** Why the provider did not read tokens from its cache, or did not write them to it. */
export type MissCause =
  | 'model switch'
  | 'dialect switch'
  | 'system text changed'
  | 'tool text changed'
  | 'ttl gap'
  | 'hide'
  | 'reveal'
  | 'expiry'
  | 'compaction'
  | 'feedback inserted'
  | 'timeline imported'
  | 'rendered differently'
  | 'look-back exceeded'
  | 'mark limit'
  | 'below minimum'
  | 'not reported'
  | 'dropped by provider'

/** A cache miss: tokens that the provider should have read from its cache or written to it, and the reason why it did not. */
export interface Miss {
  readonly cause: MissCause
  /** The number of tokens that the provider did not read from its cache or did not write to it. */
  readonly tokens: number
  /** The first block that the provider had to process without the cache. */
  readonly block?: Pick<Block, 'id' | 'type' | 'path'>
  /** The reason as a sentence for people. */
  readonly words: string
  /** How the first block that differs was shown in the earlier prompt and in this one. */
  readonly difference?: BlockDifference
}

/**
 * The text of a block in two prompts. `before` or `now` is undefined when that prompt did not have the block, or when its text was not
 * recorded.
 */
export interface BlockDifference {
  readonly before?: string
  readonly now?: string
}

const missTexts: { readonly [C in MissCause]: (about: MissFacts) => string } = {
  'model switch': ({ from, to }) => `another model was asked: ${from ?? '?'}, then ${to ?? '?'}`,
  'dialect switch': ({ from, to }) => `the model was asked in another dialect: ${from}, then ${to}`,
  'system text changed': () => 'the system text is not the one of the call before',
  'tool text changed': () => 'the catalogue of tools is not the one of the call before',
  'ttl gap': ({ seconds, ttl }) => `${span(seconds)} passed without a call, and the provider keeps its cache for ${span(ttl)}`,
  hide: ({ block }) => `the agent hid ${block} with react.hide`,
  reveal: ({ block }) => `${block} was hidden before and is shown again`,
  expiry: ({ block }) => `Daybook hid the old block ${block} while the provider still had it in its cache`,
  compaction: ({ block }) => `the conversation was compacted, and the prompt changed from ${block} on`,
  'feedback inserted': ({ block }) => `the feedback ${block} was inserted into an old turn`,
  'timeline imported': ({ block }) => `the timeline was imported, and the prompt changed from ${block} on`,
  'rendered differently': ({ block }) => `${block} is the same, but the code that shows it has changed`,
  'look-back exceeded': ({ block, parts, reach }) =>
    `${parts} parts are between the cached prompt and the mark at ${block}, but the provider looks back over only ${reach}`,
  'mark limit': ({ marks, most }) => `the request had ${marks} marks, but the provider accepts at most ${most}`,
  'below minimum': ({ planned, minimum }) => `about ${planned} tokens are too few: the provider caches at least ${minimum}`,
  'not reported': () => 'the provider did not report how many tokens it cached',
  'dropped by provider': () => 'no other cause was found, so the provider must have removed the prompt from its cache',
}

/** The values that the sentences in `missTexts` contain. Each cause uses only some of them. */
interface MissFacts {
  readonly block?: string
  readonly from?: string
  readonly to?: string
  readonly seconds?: number
  readonly ttl?: number
  readonly parts?: number
  readonly reach?: number
  readonly marks?: number
  readonly most?: number
  readonly planned?: number
  readonly minimum?: number
}

/** Makes a miss with its sentence. `block` is the first block that the provider had to process without the cache. */
export function createMiss(cause: MissCause, tokens: number, facts: MissFacts = {}, block?: Block): Miss {
  const named = block && { id: block.id, type: block.type, ...(block.path !== undefined && { path: block.path }) }
  const words = missTexts[cause]({ block: named ? `${named.id} (${named.path ?? named.type})` : 'a block', ...facts })
  return { cause, tokens: Math.round(tokens), ...(named && { block: named }), words }
}

function span(seconds = 0): string {
  return seconds < 120
    ? `${Math.round(seconds)} s`
    : seconds < 7_200
      ? `${Math.round(seconds / 60)} min`
      : `${Math.round(seconds / 3600)} h`
}

/** The last prompt that was sent to one model, and how many of its tokens the provider has in its cache. */
export interface CachedPrompt {
  readonly sent: SentPrompt
  /** The number of tokens that the provider reported as read from the cache or written to it. */
  readonly cached: number
  /** True when the provider keeps the cached prompt for the longer time (`longTtlSeconds`). */
  readonly long: boolean
  /** The changes to the timeline since this prompt was sent. */
  readonly since: readonly Change[]
}

/**
 * Explains why the provider read fewer tokens from its cache than predicted. `lost` is the difference. The causes are checked in this
 * order: another model, another dialect, other tools, another system text, an expired cache entry, the first block that differs, the
 * positions of the marks.
 */
export function explainMiss(cached: CachedPrompt, now: SentPrompt, rules: ProviderCacheRules, lost: number): Miss {
  const { sent: before } = cached
  const [previous, current] = [before.prompt, now.prompt]
  if (previous.model !== current.model) return createMiss('model switch', lost, { from: previous.model ?? '', to: current.model ?? '' })
  const [from = 'channels', to = 'channels'] = [before.response.dialect, now.response.dialect]
  if (from !== to) return createMiss('dialect switch', lost, { from, to })
  if (previous.system && current.system && previous.system.tools !== current.system.tools) return createMiss('tool text changed', lost)
  if (previous.system && current.system && previous.system.hash !== current.system.hash) return createMiss('system text changed', lost)
  const seconds = (now.at - before.at) / 1000
  const ttl = cached.long ? (rules.longTtlSeconds ?? rules.ttlSeconds) : rules.ttlSeconds
  if (seconds >= ttl) return createMiss('ttl gap', lost, { seconds, ttl })
  const lastPoint = previous.points?.at(-1) ?? before.count - 1
  const position = firstDifference(before, now, rules.kind === 'prefix' ? before.count - 1 : lastPoint)
  if (position !== undefined) return missFromEdit(cached, now, position, lost)
  return lookBackMiss(before, now, rules, lost) ?? limitMiss(before, rules, lost) ?? createMiss('dropped by provider', lost)
}

/** The miss that a changed block caused. The block at `position` was edited, inserted or removed after the previous prompt. */
function missFromEdit({ sent: before, since }: CachedPrompt, now: SentPrompt, position: number, lost: number): Miss {
  const previousBlock = before.shown[position]?.block
  const currentBlock = position < now.count ? now.shown[position]?.block : undefined
  const ids = new Set([previousBlock?.id, currentBlock?.id])
  const cause = since.map((change) => causeOfChange(change, ids)).find((known) => known !== undefined)
  const compacted = since.some(({ type }) => type === 'range.compacted')
  const miss = createMiss(cause ?? (compacted ? 'compaction' : 'rendered differently'), lost, {}, currentBlock ?? previousBlock)
  const difference = differenceAt(position, before, now, miss.cause)
  return difference ? { ...miss, difference } : miss
}

/**
 * The texts of the block at `position` in both prompts. The recorded texts are used if they exist. Otherwise the current code renders the
 * blocks again. If another version of the code made the earlier prompt, this may not be the text that was sent.
 */
function differenceAt(position: number, before: SentPrompt, now: SentPrompt, cause: MissCause): BlockDifference | undefined {
  const isRecorded = cause === 'rendered differently'
  const [was, is] = [before, now].map((sent) => sent.texts[position] ?? (isRecorded ? undefined : renderedText(sent, position)))
  if (was === is) return undefined
  return { ...(was !== undefined && { before: was }), ...(is !== undefined && { now: is }) }
}

function renderedText({ shown, count }: SentPrompt, position: number): string | undefined {
  return position < count
    ? shown[position]?.parts.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`)).join('\n')
    : undefined
}

function causeOfChange(change: Change, ids: ReadonlySet<string | undefined>): MissCause | undefined {
  const affects = (list: readonly string[]) => list.some((id) => ids.has(id))
  const addedBlock = () => blocksOfChange(change).find(({ id }) => ids.has(id))
  switch (change.type) {
    case 'blocks.hidden':
      return affects(change.ids) ? hideCauses[change.reason] : undefined
    case 'blocks.revealed':
      return affects(change.ids) ? 'reveal' : undefined
    case 'range.compacted':
      return addedBlock() ? 'compaction' : undefined
    case 'blocks.inserted':
      return insertionCause(addedBlock())
    case 'timeline.imported':
      return 'timeline imported'
    default:
      return undefined
  }
}

const hideCauses = { hide: 'hide', cache_ttl: 'expiry', cache_ttl_light: 'expiry', compaction: 'compaction' } as const

/** The cause of a miss when `block` was inserted between older blocks. The only inserted blocks are feedback and checkpoints. */
function insertionCause(block: Block | undefined): MissCause | undefined {
  if (!block) return undefined
  return /feedback/.test(block.type) ? 'feedback inserted' : 'compaction'
}

/**
 * The miss that occurs when too many parts lie between the last mark of the previous prompt and the marks of this prompt. The provider
 * looks back from a mark over a limited number of parts only.
 */
function lookBackMiss(before: SentPrompt, now: SentPrompt, rules: ProviderCacheRules, lost: number): Miss | undefined {
  const lastMark = before.prompt.marks?.at(-1)
  const marks = now.prompt.marks ?? []
  if (rules.kind !== 'marks' || lastMark === undefined || marks.length === 0) return undefined
  const distances = marks.map((mark) => mark - lastMark).filter((distance) => distance >= 0)
  if (distances.some((distance) => distance < rules.lookBackParts)) return undefined
  const block = now.shown[now.prompt.points?.at(-1) ?? -1]?.block
  return createMiss('look-back exceeded', lost, { parts: Math.max(0, ...distances), reach: rules.lookBackParts }, block)
}

/** The miss that a limit of the provider caused: the prompt has too many marks, or too few tokens before its last mark. */
export function limitMiss(sent: SentPrompt, rules: ProviderCacheRules, tokens: number): Miss | undefined {
  const marks = (sent.prompt.marks?.length ?? 0) + 1
  const block = sent.shown[sent.prompt.points?.at(-1) ?? -1]?.block
  const planned = Math.round(markedTokens(sent))
  if (rules.kind === 'marks' && marks > rules.maxMarks) return createMiss('mark limit', tokens, { marks, most: rules.maxMarks }, block)
  if (planned < rules.minimumTokens) return createMiss('below minimum', tokens, { planned, minimum: rules.minimumTokens }, block)
  return undefined
}

/** The number of tokens up to the last mark, which the provider is asked to cache. */
export const markedTokens = (sent: SentPrompt): number => sent.upTo(sent.prompt.points?.at(-1) ?? -1)
