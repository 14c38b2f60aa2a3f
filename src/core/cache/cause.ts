import type { Block } from '../block/envelope.ts'
import { blocksIn, type Change } from '../timeline/change.ts'
import { type Miss, type MissCause, missOf } from './miss.ts'
import type { ProviderCacheRules } from './rules.ts'
import { firstDifference, type Sent } from './sent.ts'

/** What a model had of a conversation when it was last asked. */
export interface Kept {
  readonly sent: Sent
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
export function causeOfLoss(kept: Kept, now: Sent, rules: ProviderCacheRules, lost: number): Miss {
  const { sent: before } = kept
  const [then, prompt] = [before.prompt, now.prompt]
  if (then.model !== prompt.model) return missOf('model switch', lost, { from: then.model ?? '', to: prompt.model ?? '' })
  if (then.system && prompt.system && then.system.tools !== prompt.system.tools) return missOf('tool text changed', lost)
  if (then.system && prompt.system && then.system.hash !== prompt.system.hash) return missOf('system text changed', lost)
  const seconds = (now.at - before.at) / 1000
  const ttl = kept.long ? (rules.longTtlSeconds ?? rules.ttlSeconds) : rules.ttlSeconds
  if (seconds >= ttl) return missOf('ttl gap', lost, { seconds, ttl })
  const lastPoint = then.points?.at(-1) ?? before.count - 1
  const position = firstDifference(before, now, rules.kind === 'prefix' ? before.count - 1 : lastPoint)
  if (position !== undefined) return editOf(kept, now, position, lost)
  return outOfReach(before, now, rules, lost) ?? notKept(before, rules, lost) ?? missOf('dropped by provider', lost)
}

/** Who changed what stood there. */
function editOf({ sent: before, since }: Kept, now: Sent, position: number, lost: number): Miss {
  const was = before.lines[position]?.block
  const is = position < now.count ? now.lines[position]?.block : undefined
  const ids = new Set([was?.id, is?.id])
  const cause = since.map((change) => causeIn(change, ids)).find((found) => found !== undefined)
  if (cause) return missOf(cause, lost, {}, is ?? was)
  const compacted = since.some(({ type }) => type === 'range.compacted')
  return missOf(compacted ? 'compaction' : 'rendered differently', lost, {}, is ?? was)
}

function causeIn(change: Change, ids: ReadonlySet<string | undefined>): MissCause | undefined {
  const touches = (list: readonly string[]) => list.some((id) => ids.has(id))
  const brings = () => blocksIn(change).find(({ id }) => ids.has(id))
  switch (change.type) {
    case 'blocks.hidden':
      return touches(change.ids) ? hidings[change.reason] : undefined
    case 'blocks.revealed':
      return touches(change.ids) ? 'reveal' : undefined
    case 'range.compacted':
      return brings() ? 'compaction' : undefined
    case 'blocks.inserted':
      return insertion(brings())
    case 'timeline.imported':
      return 'timeline imported'
    default:
      return undefined
  }
}

const hidings = { hide: 'hide', cache_ttl: 'expiry', cache_ttl_light: 'expiry', compaction: 'compaction' } as const

/** A checkpoint in the middle of a turn is a compaction, too. */
function insertion(block: Block | undefined): MissCause | undefined {
  if (!block) return undefined
  return /feedback/.test(block.type) ? 'feedback inserted' : 'compaction'
}

/** From none of the marks is what was kept near enough. */
function outOfReach(before: Sent, now: Sent, rules: ProviderCacheRules, lost: number): Miss | undefined {
  const kept = before.prompt.marks?.at(-1)
  const marks = now.prompt.marks ?? []
  if (rules.kind !== 'marks' || kept === undefined || marks.length === 0) return undefined
  const distances = marks.map((mark) => mark - kept).filter((distance) => distance >= 0)
  if (distances.some((distance) => distance < rules.lookBackParts)) return undefined
  const block = now.lines[now.prompt.points?.at(-1) ?? -1]?.block
  return missOf('look-back exceeded', lost, { parts: Math.max(0, ...distances), reach: rules.lookBackParts }, block)
}

/** What the marks asked for and the provider does not do. */
export function notKept(sent: Sent, rules: ProviderCacheRules, tokens: number): Miss | undefined {
  const marks = (sent.prompt.marks?.length ?? 0) + 1
  const block = sent.lines[sent.prompt.points?.at(-1) ?? -1]?.block
  const planned = Math.round(plannedTokens(sent))
  if (rules.kind === 'marks' && marks > rules.maxMarks) return missOf('mark limit', tokens, { marks, most: rules.maxMarks }, block)
  if (planned < rules.minimumTokens) return missOf('below minimum', tokens, { planned, minimum: rules.minimumTokens }, block)
  return undefined
}

/** Everything up to the last mark: what the provider is asked to keep. */
export const plannedTokens = (sent: Sent): number => sent.upTo(sent.prompt.points?.at(-1) ?? -1)
