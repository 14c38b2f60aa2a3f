import { type Block, blobOf, callIdOf, isHidden } from '../block/block.ts'
import { type BlockType, isResultMetadata, oncePerBlock, readPlan, readToolCall } from '../block/index.ts'
import { parsePath } from '../path/logical.ts'
import { type BlockBuffer, blocksIn } from '../timeline/block-buffer.ts'
import { blockAt, createRoundNumbers, type Timeline } from '../timeline/timeline.ts'
import { createAttachmentLimiter } from './blocks/attachment.ts'
import { renderHidden } from './blocks/hidden.ts'
import { blockRenderers, shownTypes } from './blocks/index.ts'
import { planStates } from './blocks/plan.ts'
import { type SummaryLine, summaryLineOf } from './blocks/tool-result.ts'
import { caps } from './caps.ts'
import { withoutReadHints } from './read-hints.ts'
import { scrubBase64, textPart } from './text.ts'
import type { Part, RenderContext, RenderSettings, ShownBlock, Slice } from './types.ts'

export const defaultSettings: RenderSettings = { caps }

/** A block with its parts, and with the context in which it was rendered. */
export interface RenderedBlock extends ShownBlock {
  readonly context: RenderContext
  /** True when no blank line separates this block from the previous one. */
  readonly joined: boolean
}

/**
 * Renders the blocks of a timeline, oldest first. It remembers values that later blocks need: the tool of each call, the plans that were
 * shown, the number of images. When the timeline has grown, `extend` continues after the last rendered block.
 */
export interface Walk {
  readonly buffer: BlockBuffer
  readonly size: number
  readonly shown: readonly RenderedBlock[]
  /** Renders the blocks of `timeline` that are not rendered yet: those from position `size` on. */
  extend(timeline: Timeline): void
  slice(turnId: string | undefined): Slice
  /** Returns the same slice as `slice`, but does not copy the lists. It is valid until the next call of `extend`. */
  peek(turnId: string | undefined): Slice
}

/**
 * Renders all blocks of `start`. `before` is the walk over an earlier state of the timeline. A block that has the same context in both
 * walks keeps its rendered parts.
 */
export function createWalk(start: Timeline, settings: RenderSettings, before?: Pick<Walk, 'shown'>): Walk {
  let rendered = before && new Map(before.shown.map((line) => [line.block, line]))
  const shown: RenderedBlock[] = []
  const roundEnds: number[] = []
  const headers = new Map<string, number>() // turn id -> position
  const tools = new Map<string, string>() // call id -> tool id
  const plans = new Map<string, string>() // plan id -> steps and states as last shown
  const attachments = createAttachmentLimiter(settings.caps)
  const roundOf = createRoundNumbers()
  const emptyContext: RenderContext = {
    caps: settings.caps,
    hasTool: settings.hasTool,
    callId: undefined,
    toolId: undefined,
    continuedStatus: undefined,
    repeatsPlan: false,
    attachment: undefined,
  }
  let openSummary: SummaryLine | undefined // the heading of the artifact list to which the last shown block belongs
  let lastWasStub = false
  let inSummary = false // true from a summary up to the last block that the compaction preserved after the summary
  let copied: Slice | undefined
  let borrowed: Slice = { shown, turnStart: undefined, roundEnds }

  function addBlock(block: Block, timeline: Timeline) {
    const { type, turn_id } = block
    inSummary = type === 'conv.range.summary' || (inSummary && isPreserved(block))
    const hidden = isHidden(block)
    if (!hidden && (!shownTypes.has(type) || isResultMetadata(block))) return
    const call = readToolCall(block)
    if (call) tools.set(call.tool_call_id, call.tool_id)
    const callId = callIdOf(block) ?? callInPath(block.path)
    const toolId = (callId === undefined ? undefined : tools.get(callId)) ?? block.tool_id ?? block.meta?.tool_id
    const summary = hidden ? undefined : summaryLineOf(block, callId, toolId)
    const continued = summary && summary.callId === openSummary?.callId ? openSummary : undefined
    const plan = type === 'react.plan' ? readPlan(block) : undefined
    const context: RenderContext = {
      caps: settings.caps,
      hasTool: settings.hasTool,
      callId,
      toolId,
      continuedStatus: continued?.status,
      repeatsPlan: plan !== undefined && plans.get(plan.plan_id) === planStates(plan),
      attachment: hidden || blobOf(block) === undefined ? undefined : attachments.admit(block, toolId),
    }
    const replacement = hidden ? renderHidden(block, timeline, context) : undefined
    const parts = hidden ? textParts(replacement && readableText(replacement.text, context)) : partsFor(block, context)
    if (parts.length === 0) return
    if (type === 'turn.header') {
      if (headers.has(turn_id)) return
      headers.set(turn_id, shown.length)
    } else if (!headers.has(turn_id) && !inSummary && type !== 'system.message') {
      const header = syntheticHeader(block)
      headers.set(turn_id, shown.length)
      push(header, partsFor(header, emptyContext), emptyContext, false)
    }
    const isStub = replacement?.stub === true
    push(block, parts, context, continued !== undefined || (isStub && lastWasStub))
    openSummary = continued ?? summary
    lastWasStub = isStub
    if (hidden) return
    if (plan) plans.set(plan.plan_id, planStates(plan))
    if (typeof context.attachment === 'number') attachments.record(block, context.attachment)
  }

  function partsFor(block: Block, context: RenderContext): readonly Part[] {
    const known = rendered?.get(block)
    return known && sameContext(known.context, context) ? known.parts : renderParts(block, context)
  }

  function push(block: Block, parts: readonly Part[], context: RenderContext, joined: boolean) {
    const round = inSummary ? undefined : roundOf(block) // a block that a compaction preserved belongs to a round that is no longer shown
    const position = shown.push({ block, parts, round, context, joined }) - 1
    if (round === undefined) return
    for (let later = round; later < Math.max(round + 1, roundEnds.length); later++) roundEnds[later] = position
  }

  function extend(timeline: Timeline) {
    for (; walk.size < timeline.size; walk.size++) addBlock(blocksIn(timeline.buffer)[walk.size] as Block, timeline)
  }

  const headerOf = (turnId: string | undefined) => (turnId === undefined ? undefined : headers.get(turnId))

  function slice(turnId: string | undefined): Slice {
    const turnStart = headerOf(turnId)
    if (copied?.shown.length !== shown.length || copied.turnStart !== turnStart) {
      copied = { shown: shown.slice(), turnStart, roundEnds: roundEnds.slice() }
    }
    return copied
  }

  function peek(turnId: string | undefined): Slice {
    const turnStart = headerOf(turnId)
    if (borrowed.turnStart !== turnStart) borrowed = { shown, turnStart, roundEnds }
    return borrowed
  }

  const walk = { buffer: start.buffer, size: 0, shown, extend, slice, peek }
  extend(start)
  rendered = undefined // later blocks are new, so the parts of the earlier walk are not needed any more
  return walk
}

/** The id of the running turn. If no turn is running, it is the id of the turn of the last block. */
export function currentTurnIdOf(timeline: Timeline): string | undefined {
  return timeline.openTurn?.turn_id ?? blockAt(timeline, timeline.size - 1)?.turn_id
}

const textParts = (text = ''): readonly Part[] => (text === '' ? [] : [textPart(text)])

const preservedTypes: ReadonlySet<BlockType> = new Set([
  'react.note.preserved',
  'user.followup.preserved',
  'user.steer.preserved',
  'react.plan.history',
  'react.plan.preserved',
  'react.plan',
])
const isPreserved = (block: Block) => preservedTypes.has(block.type) || block.meta?.preserved_by_compaction === true

/**
 * The header for a turn whose header block was compacted. It shows no time, because only the compacted block had the start time of the
 * turn.
 */
const syntheticHeader = oncePerBlock(
  ({ turn_id }: Block): Block => ({ id: `header_${turn_id}`, type: 'turn.header', author: 'system', turn_id, ts: '', text: '' }),
)

function callInPath(path: string | undefined): string | undefined {
  if (path?.startsWith('tc:') !== true) return undefined
  const parsed = parsePath(path)
  return parsed?.space === 'tc' ? parsed.call : undefined
}

/** Whether a block renders to the same parts in both contexts. */
function sameContext(a: RenderContext, b: RenderContext): boolean {
  return (
    a.caps === b.caps &&
    a.hasTool === b.hasTool &&
    a.toolId === b.toolId &&
    a.callId === b.callId &&
    a.continuedStatus === b.continuedStatus &&
    a.repeatsPlan === b.repeatsPlan &&
    a.attachment === b.attachment
  )
}

function renderParts(block: Block, context: RenderContext): readonly Part[] {
  const rendered = blockRenderers[block.type](block, context) // there is a renderer for every shown type, see `shownTypes`
  const parts = hasRead(context)
    ? rendered
    : rendered.map((part) => (part.type === 'text' ? textPart(readableText(part.text, context)) : part))
  return parts.some(holdsBase64) ? parts.map(withoutBase64) : parts
}

/** True if the agent has `react.read`. Without `hasTool`, the agent has the usual built-in tools, and `react.read` is one of them. */
const hasRead = ({ hasTool }: RenderContext): boolean => hasTool === undefined || hasTool('react.read')

const readableText = (text: string, context: RenderContext): string => (hasRead(context) ? text : withoutReadHints(text))

const holdsBase64 = (part: Part) => part.type === 'text' && scrubBase64(part.text) !== part.text
const withoutBase64 = (part: Part) => (part.type === 'text' ? textPart(scrubBase64(part.text)) : part)
