import type { Block } from '../block/block.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { CHARACTERS_PER_TOKEN } from '../estimate/tokens.ts'
import { createWalk, defaultSettings, type RenderedBlock, type Walk } from '../render/walk.ts'
import { applyChange } from '../timeline/apply.ts'
import { blocksOfChange, type Change, type ResponseReceived } from '../timeline/change.ts'
import type { PromptRecord, ShownFingerprints } from '../timeline/response-record.ts'
import { emptyTimeline, type Timeline } from '../timeline/timeline.ts'

/** A change in the journal, with its number. */
export interface JournalEntry {
  readonly seq: number
  readonly change: Change
}

/** A model call as the journal recorded it, with the blocks of its prompt. */
export interface RecordedCall {
  readonly seq: number
  readonly response: ResponseReceived
  /**
   * Rendered blocks, oldest first. Only the first `count` blocks were in the prompt of this call. Later calls may share this list, and then
   * their new blocks are added to its end.
   */
  readonly shown: readonly RenderedBlock[]
  readonly count: number
  /**
   * The changes since the previous call of the same role. There are three roles: decisions, titles (`gate`) and summaries (`compaction`).
   */
  readonly since: readonly Change[]
  /** The blocks that were appended because of the response. */
  readonly produced: readonly Block[]
}

/** Every model call in a journal. The blocks of its prompt are rendered again, from the entries before the call. */
export function* callsIn(journal: readonly JournalEntry[]): Generator<RecordedCall> {
  const since = new Map<string, Change[]>()
  let timeline = emptyTimeline()
  let walk: Walk | undefined
  for (const [index, { seq, change }] of journal.entries()) {
    if (change.type === 'response.received') {
      walk = walkTo(timeline, walk)
      const role = change.role ?? 'decision'
      const { shown } = walk
      const produced = blocksProducedAfter(journal, index, change)
      yield { seq, response: change, shown, count: shown.length, since: since.get(role) ?? [], produced }
      since.set(role, [])
    } else for (const changes of since.values()) changes.push(change)
    timeline = applyChange(timeline, change)
  }
}

/**
 * Renders the blocks of the timeline. `walk` has the rendered blocks of an earlier state of the timeline. If blocks were only appended
 * since then, only the new blocks are rendered. Otherwise all are rendered again.
 */
function walkTo(timeline: Timeline, walk: Walk | undefined): Walk {
  if (!walk || walk.buffer !== timeline.buffer || walk.size > timeline.size) return createWalk(timeline, defaultSettings, walk)
  walk.extend(timeline)
  return walk
}

/**
 * The blocks that were appended because of a response.
 * - After a decision: the first appended blocks of the same turn and round. The search ends at the next decision or at the end of the turn.
 * - After a title or a summary: the blocks of the next entry. If this entry is `title.set` or `blocks.hidden`, the entry after it is used.
 */
function blocksProducedAfter(
  journal: readonly JournalEntry[],
  index: number,
  { role, turn_id, iteration }: ResponseReceived,
): readonly Block[] {
  if (role !== undefined) {
    const next = journal[index + 1]?.change
    const after = next?.type === 'title.set' || next?.type === 'blocks.hidden' ? journal[index + 2]?.change : next
    return after === undefined || after.type === 'event.accepted' ? [] : blocksOfChange(after)
  }
  for (let at = index + 1; at < journal.length; at++) {
    const { change } = journal[at] as JournalEntry // every index below the length has an entry
    if (change.type === 'turn.closed' || (change.type === 'response.received' && change.role === undefined)) return []
    if (change.type !== 'blocks.appended') continue
    const isOfRound = ({ type, turn_id: turn, meta }: Block) =>
      turn === turn_id && (meta?.iteration === iteration || type === 'assistant.completion')
    if (change.blocks.some(isOfRound)) return change.blocks
  }
  return []
}

/** A prompt as it was sent, with the hashes of its blocks and the number of tokens up to each block. */
export interface SentPrompt {
  readonly response: ResponseReceived
  readonly prompt: PromptRecord
  /** The time of the response, in epoch milliseconds. */
  readonly at: number
  readonly shown: readonly RenderedBlock[]
  readonly count: number
  /** The hashes of the blocks. Only the first `count` hashes belong to this prompt. Later prompts may share the list and extend it. */
  readonly hashes: readonly (number | undefined)[]
  /** The texts of the blocks as they were sent. They are undefined if the setting `recordPrompts` was not set when the prompt was sent. */
  readonly texts: readonly (string | undefined)[]
  /**
   * The number of tokens of the system text and of all blocks up to and including the block at `position`. With -1 it is the system text
   * alone. The tokens are estimated, and the estimates are scaled so that the whole prompt has `total` tokens.
   */
  upTo(position: number): number
  readonly total: number
  readonly since: readonly Change[]
}

/**
 * Makes a function that computes the prompt of a call. The function must be called with the calls of one conversation in order, because the
 * journal records only the hashes of new blocks.
 */
export function createPromptReader(estimator: Estimator): (call: RecordedCall) => SentPrompt {
  let hashes: (number | undefined)[] = []
  let texts: readonly (string | undefined)[] = []
  let summed: { readonly shown: readonly RenderedBlock[]; readonly sums: number[] } | undefined

  /** A list of sums. The item at index n is the number of tokens of the first n blocks, for n from 0 to `count`. */
  function sumsOf(shown: readonly RenderedBlock[], count: number): readonly number[] {
    if (summed?.shown !== shown || summed.sums.length > count + 1) summed = { shown, sums: [0] }
    const { sums } = summed
    for (let n = sums.length - 1; n < count; n++) sums.push((sums[n] as number) + estimator.parts((shown[n] as RenderedBlock).parts))
    return sums
  }

  return ({ response, shown, count, since }) => {
    const prompt = response.prompt ?? {}
    hashes = extendHashes(hashes, prompt.shown, count)
    texts = recordedTexts(texts, prompt.shown)
    const sums = sumsOf(shown, count)
    const system = (prompt.system?.size ?? 0) / CHARACTERS_PER_TOKEN
    const estimated = system + (sums[count] as number) + (prompt.tail?.size ?? 0) / CHARACTERS_PER_TOKEN
    const { usage } = response
    const total = usage ? usage.uncached + usage.cache_read + usage.cache_write : estimated
    const scale = estimated > 0 ? total / estimated : 1
    const upTo = (position: number) => (system + (sums[Math.min(count, Math.max(0, position + 1))] as number)) * scale
    return { response, prompt, at: Date.parse(response.ts), shown, count, hashes, texts, upTo, total, since }
  }
}

/**
 * The hashes of the first `count` blocks of a prompt. `known` has the hashes of the previous prompt. `record` has the hashes of the blocks
 * that are new in this prompt. If no block of the previous prompt was changed, `known` itself is extended. Otherwise a new list is made.
 * Without a record, all hashes are undefined.
 */
function extendHashes(known: (number | undefined)[], record: ShownFingerprints | undefined, count: number): (number | undefined)[] {
  if (!record) return Array.from({ length: count }, () => undefined)
  if (record.from === known.length) {
    for (const hash of record.hashes) known.push(hash)
    return known
  }
  return [...Array.from({ length: record.from }, (_, position) => known[position]), ...record.hashes]
}

/**
 * The recorded texts of the blocks of a prompt. `known` has the texts of the previous prompt. Most conversations have no recorded texts.
 */
function recordedTexts(known: readonly (string | undefined)[], record: ShownFingerprints | undefined): readonly (string | undefined)[] {
  if (!record?.texts && known.length === 0) return known
  const { from, hashes, texts = [] } = record ?? { from: 0, hashes: [] }
  return [...Array.from({ length: from }, (_, position) => known[position]), ...hashes.map((_, index) => texts[index])]
}

/**
 * The position of the first block that differs in the two prompts. Positions after `until` are not compared. Undefined when no block
 * differs.
 */
export function firstDifference(before: SentPrompt, now: SentPrompt, until: number): number | undefined {
  if (before.hashes === now.hashes) return undefined
  for (let position = 0; position <= Math.min(until, before.count - 1); position++) {
    const [was, is] = [before.hashes[position], position < now.count ? now.hashes[position] : undefined]
    if (was !== undefined && was !== is) return position
  }
  return undefined
}
