import { type Block, type BlockType, callIdOf, isHidden } from '../block/block.ts'
import { readToolCall } from '../block/round.ts'
import { systemMessageBlock } from '../block/turn.ts'
import { binaryContentOf, type Estimator, isImageOrPdf } from '../estimate/estimate.ts'
import { systemMessagePath } from '../path/build.ts'
import type { BlocksHidden, Change } from '../timeline/change.ts'
import { assignIds, blocksOf, blocksOfCall, hasPath, type Timeline } from '../timeline/timeline.ts'
import { turnIdsOf } from '../timeline/turns.ts'
import { type ExpiryGroup, isLookupTool, replacementText } from './replacement.ts'

/**
 * Settings for hiding old blocks after the provider's cache has expired. Sizes of images and other bytes are in base64 characters: four
 * characters for three bytes.
 */
export interface ExpirySettings {
  /**
   * How many seconds the provider keeps a prompt in its cache after it was last used. If this is null or not positive, no blocks are
   * hidden.
   */
  readonly ttlSeconds: number | null
  /**
   * Blocks are hidden this many seconds before the provider's cache expires. The reason is that a prompt which is rendered just before the
   * cache expires may reach the provider after the cache has expired.
   */
  readonly bufferSeconds: number
  /** The number of newest turns, including the current one, that are not hidden as a whole. */
  readonly keepRecentTurns: number
  /** The number of newest turns, including the current one, in which no block is hidden. */
  readonly keepIntactTurns: number
  readonly maxTextChars: number
  readonly maxFieldChars: number
  readonly maxToolTextChars: number
  readonly maxListItems: number
  readonly maxKeys: number
  readonly maxBase64Chars: number
  readonly keepPictures: number
  readonly maxPicturesBase64Chars: number
  readonly replacementMaxTokens: number
}

export const defaultExpirySettings: ExpirySettings = {
  ttlSeconds: 300,
  bufferSeconds: 10,
  keepRecentTurns: 6,
  keepIntactTurns: 1,
  maxTextChars: 4000,
  maxFieldChars: 1000,
  maxToolTextChars: 400,
  maxListItems: 50,
  maxKeys: 80,
  maxBase64Chars: 4000,
  keepPictures: 2,
  maxPicturesBase64Chars: 1_000_000,
  replacementMaxTokens: 240,
}

export interface ExpiryOptions {
  readonly now: string
  readonly currentTurnId: string
  readonly settings: ExpirySettings
  readonly tokens: Estimator
}

export interface ExpiryPlan {
  readonly status: 'disabled' | 'armed' | 'fresh' | 'empty' | 'no_effect' | 'pruned' | 'pruned_light'
  /** The changes that hide blocks, and a message that tells the agent about them. They must be appended together. */
  readonly changes: readonly Change[]
}

/**
 * Plans which old blocks to hide when the provider's cache has expired. Changing old blocks costs nothing extra at this time, because the
 * provider has to process the whole prompt again anyway. This function is called before each render. The time to live was stored with the
 * last response, so a changed setting takes effect after the next response.
 */
export function planExpiry(timeline: Timeline, { now, currentTurnId, settings, tokens }: ExpiryOptions): ExpiryPlan {
  const { cache } = timeline
  if (!isTtl(settings.ttlSeconds)) return { status: 'disabled', changes: [] }
  if (!cache) return { status: 'armed', changes: [] }
  const ttl = isTtl(cache.ttl_seconds) ? cache.ttl_seconds : settings.ttlSeconds
  const idle = cache.touched_at === now ? 0 : (Date.parse(now) - Date.parse(cache.touched_at)) / 1000
  if (idle < Math.max(0, ttl - settings.bufferSeconds)) return { status: 'fresh', changes: [] }
  if (timeline.size === 0) return { status: 'empty', changes: [] }

  const hidden = planGroups(timeline, currentTurnId, settings).map(
    ({ group, scope }): BlocksHidden => ({
      type: 'blocks.hidden',
      ids: group.blocks.map(({ id }) => id),
      replacement_text: replacementText(group, settings, tokens),
      reason: scope === 'old_turn' ? 'cache_ttl' : 'cache_ttl_light',
      scope,
    }),
  )
  if (hidden.length === 0) return { status: 'no_effect', changes: [] }
  const status = hidden.some(({ scope }) => scope === 'old_turn') ? 'pruned' : 'pruned_light'
  return { status, changes: [...hidden, ...pruneNotice(timeline, currentTurnId, now, ttl)] }
}

const isTtl = (seconds: number | null): seconds is number => seconds !== null && seconds > 0

interface ScopedGroup {
  readonly group: ExpiryGroup
  readonly scope: 'old_turn' | 'recent'
}

/**
 * The groups of blocks to hide. Old turns are hidden as a whole. In recent turns, only blocks are hidden whose content is cheap to get
 * again. Blocks at one path form one group if they are in old turns, and another group if they are in recent turns. So if a file was read
 * again in a newer turn, the newer block stays visible when the older one is hidden.
 */
function planGroups(timeline: Timeline, currentTurnId: string, settings: ExpirySettings): readonly ScopedGroup[] {
  const blocks = blocksOf(timeline)
  const ageOf = ageOfTurn(blocks, currentTurnId, settings)
  const notOld = blocks.filter((block) => !isHidden(block) && ageOf(block.turn_id) !== 'old')
  const kept = picturesToKeep(notOld, settings)
  const expirable = blocks.filter(mayExpire)
  const old = expirable.filter(({ turn_id }) => ageOf(turn_id) === 'old')
  const recent = expirable.filter(({ turn_id }) => ageOf(turn_id) === 'recent')
  const cheap = recent.filter((block) => isCheapToRecover(block, toolOf(timeline, block), kept, settings))
  const scoped = (scope: ScopedGroup['scope'], group: readonly Block[]): ScopedGroup => {
    const newest = group.at(-1) as Block // groups are never empty
    // `mayExpire` accepts only blocks with a path.
    return { scope, group: { path: newest.path as string, blocks: group, toolId: toolOf(timeline, newest) } }
  }
  return [...groupsByPath(old).map((group) => scoped('old_turn', group)), ...groupsByPath(cheap).map((group) => scoped('recent', group))]
}

/**
 * The age of a turn decides how much of it is hidden. With `keepRecentTurns` 6 and `keepIntactTurns` 1:
 *
 *   t1 t2 │ t3 t4 t5 t6 t7 │ t8
 *   old   │ recent         │ intact
 */
type TurnAge = 'old' | 'recent' | 'intact'

/** Makes a function that returns the age of a turn. The current turn is the newest turn, even if it has no block yet. */
function ageOfTurn(blocks: readonly Block[], currentTurnId: string, settings: ExpirySettings): (turnId: string) => TurnAge {
  const newestFirst = [...turnIdsOf(blocks).filter((id) => id !== currentTurnId), currentTurnId].reverse()
  const ages = new Map(newestFirst.map((turnId, rank): [string, TurnAge] => [turnId, ageOf(turnId, rank)]))
  return (turnId) => ages.get(turnId) ?? 'intact'

  function ageOf(turnId: string, rank: number): TurnAge {
    if (turnId === currentTurnId || rank < settings.keepIntactTurns) return 'intact'
    return rank < settings.keepRecentTurns ? 'recent' : 'old'
  }
}

/**
 * The types of blocks that are never hidden because of their age. Only imported timelines contain `event.external.preserved`, because
 * Daybook does not write blocks of this type.
 */
const lastingTypes: ReadonlySet<BlockType | 'event.external.preserved'> = new Set([
  'turn.header',
  'turn.feedback',
  'conv.range.summary',
  'conv.working.summary',
  'react.note',
  'react.note.preserved',
  'react.plan',
  'react.plan.history',
  'react.plan.preserved',
  'user.followup',
  'user.followup.preserved',
  'user.steer',
  'user.steer.preserved',
  'event.external',
  'event.external.preserved',
])

/** True for a visible block that has a path. False if its type is in `lastingTypes`, or if it is a call of `react.plan`. */
function mayExpire(block: Block): boolean {
  if (block.path === undefined || isHidden(block) || lastingTypes.has(block.type)) return false
  return readToolCall(block)?.tool_id !== 'react.plan'
}

/**
 * True for results of searches and fetches, for texts of skills, for images and PDFs whose path is not in `kept`, and for other blocks with
 * more than `maxBase64Chars` of binary content.
 */
function isCheapToRecover(block: Block, toolId: string | undefined, kept: ReadonlySet<string>, settings: ExpirySettings): boolean {
  if (isImageOrPdf(block)) return !kept.has(block.path as string) // `mayExpire` accepts only blocks with a path
  if (base64Chars(block) > settings.maxBase64Chars) return true
  return block.type === 'react.tool.result' && (isLookupTool(toolId) || block.path?.startsWith('sk:') === true)
}

/**
 * The paths of the images and PDFs that stay visible. The newest ones stay, at most `keepPictures` and at most `maxPicturesBase64Chars` in
 * total. The newest one stays even if it alone exceeds this size. `blocks` are the visible blocks of turns that are not old, oldest first.
 */
function picturesToKeep(blocks: readonly Block[], settings: ExpirySettings): ReadonlySet<string> {
  const kept = new Set<string>()
  let totalChars = 0
  for (const block of blocks.toReversed()) {
    if (!isImageOrPdf(block) || block.path === undefined || kept.has(block.path)) continue
    totalChars += base64Chars(block)
    if (kept.size >= settings.keepPictures || (kept.size > 0 && totalChars > settings.maxPicturesBase64Chars)) break
    kept.add(block.path)
  }
  return kept
}

const base64Chars = (block: Block): number => Math.ceil(((binaryContentOf(block)?.size ?? 0) * 4) / 3)

function groupsByPath(blocks: readonly Block[]): readonly (readonly Block[])[] {
  const groups = new Map<string | undefined, Block[]>()
  for (const block of blocks) {
    const group = groups.get(block.path)
    if (group) group.push(block)
    else groups.set(block.path, [block])
  }
  return [...groups.values()]
}

function toolOf(timeline: Timeline, block: Block): string | undefined {
  const callId = callIdOf(block)
  const call = callId === undefined ? undefined : blocksOfCall(timeline, callId).find(readToolCall)
  return (call && readToolCall(call)?.tool_id) ?? block.tool_id ?? block.meta?.tool_id
}

const NOTICE_KEY = 'cache_pruned'

/** The change that appends a message for the agent about the hidden blocks. Empty when the turn already has this message. */
function pruneNotice(timeline: Timeline, turnId: string, now: string, ttl: number): readonly Change[] {
  if (hasPath(timeline, systemMessagePath(turnId, NOTICE_KEY))) return []
  const text =
    `Context was shortened because the session was idle longer than ${ttl}s. Artifacts and messages still exist under their logical paths. ` +
    'Look at what is visible first; use react.read([path]) only for exact content that is missing.'
  const drafts = [systemMessageBlock(turnId, now, { key: NOTICE_KEY, text, kind: 'cache_ttl_pruned', ttlSeconds: ttl })]
  return [{ type: 'blocks.appended', blocks: assignIds(timeline, drafts) }]
}
