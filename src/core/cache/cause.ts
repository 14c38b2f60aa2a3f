import type { Block } from '../block/block.ts'
import { blocksOfChange, type Change } from '../timeline/change.ts'
import { createMiss, type Miss, type MissCause } from './misses.ts'
import type { ProviderCacheRules } from './rules.ts'
import { firstDifference, type SentPrompt } from './sent.ts'

/** What a model had of a conversation when it was last asked. */
export interface CachedPrompt {
  readonly sent: SentPrompt
  /** Tokens that it said it had read or written. */
  readonly cached: number
  /** It was written to live longer than is usual. */
  readonly long: boolean
  /** Everything that was changed since. */
  readonly since: readonly Change[]
}

/**
 * Why a prompt was not found where it had been kept. Asked in the order in which a provider would stumble: another model knows
 * nothing, another beginning makes everything after it new, then comes time, then the first block that differs, then the marks.
 */
export function explainMiss(kept: CachedPrompt, now: SentPrompt, rules: ProviderCacheRules, lost: number): Miss {
  const { sent: before } = kept
  const [then, prompt] = [before.prompt, now.prompt]
  if (then.model !== prompt.model) return createMiss('model switch', lost, { from: then.model ?? '', to: prompt.model ?? '' })
  if (then.system && prompt.system && then.system.tools !== prompt.system.tools) return createMiss('tool text changed', lost)
  if (then.system && prompt.system && then.system.hash !== prompt.system.hash) return createMiss('system text changed', lost)
  const seconds = (now.at - before.at) / 1000
  const ttl = kept.long ? (rules.longTtlSeconds ?? rules.ttlSeconds) : rules.ttlSeconds
  if (seconds >= ttl) return createMiss('ttl gap', lost, { seconds, ttl })
  const lastPoint = then.points?.at(-1) ?? before.count - 1
  const position = firstDifference(before, now, rules.kind === 'prefix' ? before.count - 1 : lastPoint)
  if (position !== undefined) return missFromEdit(kept, now, position, lost)
  return lookBackMiss(before, now, rules, lost) ?? limitMiss(before, rules, lost) ?? createMiss('dropped by provider', lost)
}

/** Who changed what stood there. */
function missFromEdit({ sent: before, since }: CachedPrompt, now: SentPrompt, position: number, lost: number): Miss {
  const was = before.lines[position]?.block
  const is = position < now.count ? now.lines[position]?.block : undefined
  const ids = new Set([was?.id, is?.id])
  const cause = since.map((change) => causeOfChange(change, ids)).find((found) => found !== undefined)
  if (cause) return createMiss(cause, lost, {}, is ?? was)
  const compacted = since.some(({ type }) => type === 'range.compacted')
  return createMiss(compacted ? 'compaction' : 'rendered differently', lost, {}, is ?? was)
}

function causeOfChange(change: Change, ids: ReadonlySet<string | undefined>): MissCause | undefined {
  const touches = (list: readonly string[]) => list.some((id) => ids.has(id))
  const brings = () => blocksOfChange(change).find(({ id }) => ids.has(id))
  switch (change.type) {
    case 'blocks.hidden':
      return touches(change.ids) ? hideCauses[change.reason] : undefined
    case 'blocks.revealed':
      return touches(change.ids) ? 'reveal' : undefined
    case 'range.compacted':
      return brings() ? 'compaction' : undefined
    case 'blocks.inserted':
      return insertionCause(brings())
    case 'timeline.imported':
      return 'timeline imported'
    default:
      return undefined
  }
}

const hideCauses = { hide: 'hide', cache_ttl: 'expiry', cache_ttl_light: 'expiry', compaction: 'compaction' } as const

/** A checkpoint in the middle of a turn is a compaction, too. */
function insertionCause(block: Block | undefined): MissCause | undefined {
  if (!block) return undefined
  return /feedback/.test(block.type) ? 'feedback inserted' : 'compaction'
}

/** From none of the marks is what was kept near enough. */
function lookBackMiss(before: SentPrompt, now: SentPrompt, rules: ProviderCacheRules, lost: number): Miss | undefined {
  const kept = before.prompt.marks?.at(-1)
  const marks = now.prompt.marks ?? []
  if (rules.kind !== 'marks' || kept === undefined || marks.length === 0) return undefined
  const distances = marks.map((mark) => mark - kept).filter((distance) => distance >= 0)
  if (distances.some((distance) => distance < rules.lookBackParts)) return undefined
  const block = now.lines[now.prompt.points?.at(-1) ?? -1]?.block
  return createMiss('look-back exceeded', lost, { parts: Math.max(0, ...distances), reach: rules.lookBackParts }, block)
}

/** What the marks asked for and the provider does not do. */
export function limitMiss(sent: SentPrompt, rules: ProviderCacheRules, tokens: number): Miss | undefined {
  const marks = (sent.prompt.marks?.length ?? 0) + 1
  const block = sent.lines[sent.prompt.points?.at(-1) ?? -1]?.block
  const planned = Math.round(markedTokens(sent))
  if (rules.kind === 'marks' && marks > rules.maxMarks) return createMiss('mark limit', tokens, { marks, most: rules.maxMarks }, block)
  if (planned < rules.minimumTokens) return createMiss('below minimum', tokens, { planned, minimum: rules.minimumTokens }, block)
  return undefined
}

/** Everything up to the last mark: what the provider is asked to keep. */
export const markedTokens = (sent: SentPrompt): number => sent.upTo(sent.prompt.points?.at(-1) ?? -1)
