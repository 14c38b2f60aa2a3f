import { type Block, callIdOf, isHidden } from '../block/block.ts'
import { type BlockType, oncePerBlock, readPlan, readToolCall } from '../block/index.ts'
import { parsePath } from '../path/logical.ts'
import type { BlockBuffer } from '../timeline/timeline.ts'
import { blockAt, type Timeline } from '../timeline/timeline.ts'
import { createRoundNumbers } from '../timeline/turns.ts'
import { createAttachmentLimiter } from './blocks/attachment.ts'
import { readPlainCall } from './blocks/fast-tool-call.ts'
import { renderHidden } from './blocks/hidden.ts'
import { blockRenderers, isNeverShown } from './blocks/index.ts'
import { planStates } from './blocks/plan.ts'
import { summaryKey } from './blocks/tool-result.ts'
import { caps } from './caps.ts'
import { scrubBase64 } from './redact.ts'
import { textPart } from './text.ts'
import type { Part, RenderContext, RenderSettings, ShownBlock, Slice } from './types.ts'

export const defaultSettings: RenderSettings = { caps }

/** What the model can see of a timeline, before marks and tails. */
export function sliceOf(timeline: Timeline, settings: RenderSettings = defaultSettings, currentTurnId?: string): Slice {
  const walk = createWalk(timeline, settings)
  return walk.slice(currentTurnId ?? currentTurn(timeline))
}

/** The turn that is running, or the one that was last heard of. */
export function currentTurn(timeline: Timeline): string | undefined {
  return timeline.openTurn?.turn_id ?? blockAt(timeline, timeline.size - 1)?.turn_id
}

/** A shown block, what it was shown by, and whether it continues the lines of the one before it. */
export interface RenderedBlock extends ShownBlock {
  readonly context: RenderContext
  readonly joined: boolean
}

/**
 * One pass over a timeline, oldest first, that remembers what later blocks are shown by: who was called, which plan was last
 * seen, how many images there are. It never looks ahead, and goes on where it stopped when the same timeline has grown.
 */
export interface Walk {
  readonly spine: BlockBuffer
  readonly size: number
  readonly lines: readonly RenderedBlock[]
  /** Takes in the blocks that `timeline` has beyond `size`. */
  extend(timeline: Timeline): void
  slice(turnId: string | undefined): Slice
  /** The same without copying: true only until the walk goes on. */
  peek(turnId: string | undefined): Slice
}

/** `before` is an earlier walk over much the same blocks: what it showed need not be made again. */
export function createWalk(start: Timeline, settings: RenderSettings, before?: Pick<Walk, 'lines'>): Walk {
  let known = before && new Map(before.lines.map((line) => [line.block, line]))
  const limits = settings.caps
  const shown: RenderedBlock[] = []
  const roundEnds: number[] = []
  const headers = new Map<string, number>()
  const tools = new Map<string, string>()
  const plans = new Map<string, string>()
  const attachments = createAttachmentLimiter(limits)
  const roundOf = createRoundNumbers()
  const plain: RenderContext = { caps: limits, callId: undefined, toolId: undefined, continues: false, repeats: false, attached: undefined }
  let lastSummary: string | undefined
  let lastStub = false
  let folding = false // still among the summary and what it preserved
  let copy: Slice | undefined // whoever looks again before anything is new gets the same
  let lent: Slice = { shown, turnStart: undefined, roundEnds }

  function take(block: Block, timeline: Timeline) {
    const { type, turn_id } = block
    folding = type === 'conv.range.summary' || (folding && isPreserved(block))
    const hidden = isHidden(block)
    if (!hidden && isNeverShown(type)) return
    const call = type === 'react.tool.call' ? (readPlainCall(block) ?? readToolCall(block)) : undefined
    if (call) tools.set(call.tool_call_id, call.tool_id)
    const callId = callIdOf(block) ?? callInPath(block.path)
    const toolId = (callId === undefined ? undefined : tools.get(callId)) ?? block.tool_id ?? block.meta?.tool_id
    const summary = hidden ? undefined : summaryKey(block, callId, toolId)
    const plan = type === 'react.plan' ? readPlan(block) : undefined
    const context: RenderContext = {
      caps: limits,
      callId,
      toolId,
      continues: summary !== undefined && summary === lastSummary,
      repeats: plan !== undefined && plans.get(plan.plan_id) === planStates(plan),
      attached: hidden ? undefined : attachments.admit(block, toolId),
    }
    const replaced = hidden ? (renderHidden(block, timeline, context) ?? nothing) : undefined
    const parts = replaced ? replacedParts(replaced.text) : partsIn(block, context)
    if (parts.length === 0) return
    if (type === 'turn.header') {
      if (headers.has(turn_id)) return // a turn is headed once
      headers.set(turn_id, shown.length)
    } else if (!headers.has(turn_id) && !folding && type !== 'system.message') {
      const header = syntheticHeader(block)
      headers.set(turn_id, shown.length)
      push(header, partsIn(header, plain), plain, false)
    }
    const stub = replaced?.stub === true
    push(block, parts, context, context.continues || (stub && lastStub))
    lastSummary = summary
    lastStub = stub
    if (hidden) return
    if (plan) plans.set(plan.plan_id, planStates(plan))
    if (typeof context.attached === 'number') attachments.record(block, context.attached)
  }

  function partsIn(block: Block, context: RenderContext): readonly Part[] {
    const line = known?.get(block)
    return line && sameContext(line.context, context) ? line.parts : renderParts(block, context)
  }

  function push(block: Block, parts: readonly Part[], context: RenderContext, joined: boolean) {
    const round = folding ? undefined : roundOf(block) // what a summary preserved was made in no round that can be seen
    const position = shown.push({ block, parts, round, context, joined }) - 1
    if (round === undefined) return
    for (let later = round; later < Math.max(round + 1, roundEnds.length); later++) roundEnds[later] = position
  }

  function extend(timeline: Timeline) {
    const { buffer: spine, size } = timeline
    for (; self.size < size; self.size++) take(spine.blocks[self.size] as Block, timeline)
  }

  const headerOf = (turnId: string | undefined) => (turnId === undefined ? undefined : headers.get(turnId))

  function slice(turnId: string | undefined): Slice {
    const turnStart = headerOf(turnId)
    if (copy?.shown.length !== shown.length || copy.turnStart !== turnStart) {
      copy = { shown: shown.slice(), turnStart, roundEnds: roundEnds.slice() }
    }
    return copy
  }

  function glance(turnId: string | undefined): Slice {
    const turnStart = headerOf(turnId)
    if (lent.turnStart !== turnStart) lent = { shown, turnStart, roundEnds }
    return lent
  }

  const self = { spine: start.buffer, size: 0, lines: shown, extend, slice, peek: glance }
  extend(start)
  known = undefined // what follows is new
  return self
}

const nothing = { text: '', stub: false }
const replacedParts = (text: string): readonly Part[] => (text === '' ? [] : [textPart(text)])

const preservedTypes: ReadonlySet<string> = new Set([
  'react.note.preserved',
  'user.followup.preserved',
  'user.steer.preserved',
  'react.plan.history',
  'react.plan.preserved',
  'react.plan',
])
const isPreserved = (block: Block) => preservedTypes.has(block.type) || block.meta?.preserved_by_compaction === true

/** For a turn whose beginning was compacted away. It has no time: when the turn began is not known here. */
const syntheticHeader = oncePerBlock(
  ({ turn_id }: Block): Block => ({ id: `header_${turn_id}`, type: 'turn.header', author: 'system', turn_id, ts: '', text: '' }),
)

function callInPath(path: string | undefined): string | undefined {
  if (path?.startsWith('tc:') !== true) return undefined
  const parsed = parsePath(path)
  return parsed?.space === 'tc' ? parsed.call : undefined
}

/** Blocks never change: what one was shown as holds as long as what came before it says the same. */
function sameContext(a: RenderContext, b: RenderContext): boolean {
  return (
    a.caps === b.caps &&
    a.toolId === b.toolId &&
    a.callId === b.callId &&
    a.continues === b.continues &&
    a.repeats === b.repeats &&
    a.attached === b.attached
  )
}

function renderParts(block: Block, context: RenderContext): readonly Part[] {
  const parts = blockRenderers[block.type as BlockType](block, context) // a type that nobody knows shows nothing, and is not asked
  for (const part of parts) if (holdsBase64(part)) return parts.map(scrubbed)
  return parts
}

const holdsBase64 = (part: Part) => part.type === 'text' && scrubBase64(part.text) !== part.text
const scrubbed = (part: Part) => (part.type === 'text' ? textPart(scrubBase64(part.text)) : part)
