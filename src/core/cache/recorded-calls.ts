import type { Block } from '../block/block.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { createWalk, defaultSettings, type RenderedBlock, type Walk } from '../render/walk.ts'
import { applyChange } from '../timeline/apply.ts'
import { blocksOfChange, type Change, type PromptRecord, type ResponseReceived, type ShownFingerprints } from '../timeline/change.ts'
import { emptyTimeline, type Timeline } from '../timeline/timeline.ts'

/** An entry of a journal, as a store gives it. */
export interface JournalEntry {
  readonly seq: number
  readonly change: Change
}

/** A call of a model as the journal has it, and what could be seen when it was made. */
export interface RecordedCall {
  readonly seq: number
  readonly response: ResponseReceived
  /** The blocks that were shown, oldest first: the first `count` of these. */
  readonly shown: readonly RenderedBlock[]
  readonly count: number
  /** What was changed since the call before of the same role. */
  readonly since: readonly Change[]
  /** What was entered with the answer. */
  readonly produced: readonly Block[]
}

/** Every call of a conversation. What was shown follows from the entries before it: the journal is all there is. */
export function* callsIn(journal: readonly JournalEntry[]): Generator<RecordedCall> {
  const since = new Map<string, Change[]>()
  let timeline = emptyTimeline()
  let walk: Walk | undefined
  for (const [index, { seq, change }] of journal.entries()) {
    if (change.type === 'response.received') {
      walk = walkTo(timeline, walk)
      const role = change.role ?? 'decision'
      const made = blocksProducedAfter(journal, index)
      yield { seq, response: change, shown: walk.shown, count: walk.shown.length, since: since.get(role) ?? [], produced: made }
      since.set(role, [])
    } else for (const changes of since.values()) changes.push(change)
    timeline = applyChange(timeline, change)
  }
}

/** An edited past is walked again; what only grew is not. */
function walkTo(timeline: Timeline, walk: Walk | undefined): Walk {
  if (!walk || walk.buffer !== timeline.buffer || walk.size > timeline.size) return createWalk(timeline, defaultSettings, walk)
  walk.extend(timeline)
  return walk
}

/** Blocks follow their response at once; a title may stand between, or what a summary folds away. */
function blocksProducedAfter(journal: readonly JournalEntry[], index: number): readonly Block[] {
  const next = journal[index + 1]?.change
  const after = next?.type === 'title.set' || next?.type === 'blocks.hidden' ? journal[index + 2]?.change : next
  return after === undefined || after.type === 'event.accepted' ? [] : blocksOfChange(after)
}

/** A prompt as it was sent: what was shown by hash and by block, where the marks stood, and what all of it weighs. */
export interface SentPrompt {
  readonly response: ResponseReceived
  readonly prompt: PromptRecord
  readonly at: number
  readonly shown: readonly RenderedBlock[]
  readonly count: number
  /** Hashes of the blocks; shared with later prompts that only grew, so look below `count`. */
  readonly hashes: readonly (number | undefined)[]
  /** Tokens up to and with the block at a position; -1 for the system text alone. Scaled to the bill, where there is one. */
  upTo(position: number): number
  readonly total: number
  readonly since: readonly Change[]
}

/** Puts prompts together again, one after the other. */
export function createPromptReader(estimator: Estimator): (call: RecordedCall) => SentPrompt {
  let hashes: (number | undefined)[] = []
  let weighed: { readonly lines: readonly RenderedBlock[]; readonly sums: number[] } | undefined

  /** Of the first so many blocks, for lines that only grow. */
  function sumsOf(lines: readonly RenderedBlock[], count: number): readonly number[] {
    if (weighed?.lines !== lines || weighed.sums.length > count + 1) weighed = { lines, sums: [0] }
    const { sums } = weighed
    for (let n = sums.length - 1; n < count; n++) sums.push((sums[n] as number) + estimator.parts((lines[n] as RenderedBlock).parts))
    return sums
  }

  return ({ response, shown: lines, count, since }) => {
    const prompt = response.prompt ?? {}
    hashes = extendHashes(hashes, prompt.shown, count)
    const sums = sumsOf(lines, count)
    const system = (prompt.system?.size ?? 0) / CHARACTERS_PER_TOKEN
    const estimated = system + (sums[count] as number) + (prompt.tail?.size ?? 0) / CHARACTERS_PER_TOKEN
    const { usage } = response
    const total = usage ? usage.uncached + usage.cache_read + usage.cache_write : estimated
    const scale = estimated > 0 ? total / estimated : 1
    const upTo = (position: number) => (system + (sums[Math.min(count, Math.max(0, position + 1))] as number)) * scale
    return { response, prompt, at: Date.parse(response.ts), shown: lines, count, hashes, upTo, total, since }
  }
}

const CHARACTERS_PER_TOKEN = 4

/** A prompt that only grew adds to the list; an edited one makes another. Where nobody wrote anything down there is a gap. */
function extendHashes(known: (number | undefined)[], print: ShownFingerprints | undefined, count: number): (number | undefined)[] {
  if (!print) return Array.from({ length: count }, () => undefined)
  if (print.from === known.length) {
    for (const hash of print.hashes) known.push(hash)
    return known
  }
  return [...Array.from({ length: print.from }, (_, position) => known[position]), ...print.hashes]
}

/** The first block of `before`, up to and with position `until`, that `now` does not show in its place. */
export function firstDifference(before: SentPrompt, now: SentPrompt, until: number): number | undefined {
  if (before.hashes === now.hashes) return undefined
  for (let position = 0; position <= Math.min(until, before.count - 1); position++) {
    const [was, is] = [before.hashes[position], position < now.count ? now.hashes[position] : undefined]
    if (was !== undefined && was !== is) return position
  }
  return undefined
}
