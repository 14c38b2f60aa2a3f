import { type Block, callOf, isHidden } from '../block/envelope.ts'
import { isBlockType, oncePerBlock, readPlan, readToolCall } from '../block/index.ts'
import { parsePath } from '../path/logical.ts'
import { roundKey } from '../timeline/rounds.ts'
import type { Spine } from '../timeline/spine.ts'
import { blockAt, type Timeline } from '../timeline/timeline.ts'
import { bytesOf, refusal } from './binary.ts'
import { renderBlock } from './blocks.ts'
import { type Caps, caps } from './caps.ts'
import type { NotAttached, RenderSettings, ShowContext } from './context.ts'
import { replacementOf } from './hidden.ts'
import type { Part } from './part.ts'
import { planStates } from './plan.ts'
import { scrubBase64 } from './scrub.ts'
import type { Shown, Slice } from './slice.ts'
import { textPart } from './text.ts'
import { summaryOf } from './tool-results.ts'

export const defaultSettings: RenderSettings = { caps }

/** What the model can see of a timeline, before marks and tails. */
export function sliceOf(timeline: Timeline, settings: RenderSettings = defaultSettings, currentTurnId?: string): Slice {
  const walk = createWalk(timeline, createMemo(settings))
  return walk.slice(currentTurnId ?? currentTurn(timeline))
}

/** The turn that is running, or the one that was last heard of. */
export function currentTurn(timeline: Timeline): string | undefined {
  return timeline.openTurn?.turn_id ?? blockAt(timeline, timeline.size - 1)?.turn_id
}

/** A shown block and whether it continues the lines of the one before it. */
export interface Line extends Shown {
  readonly joined: boolean
}

/**
 * One pass over a timeline, oldest first, that remembers what later blocks are shown by: who was called, which plan was last
 * seen, how many images there are. It never looks ahead, and goes on where it stopped when the same timeline has grown.
 */
export interface Walk {
  readonly spine: Spine
  readonly size: number
  readonly lines: readonly Line[]
  /** Takes in the blocks that `timeline` has beyond `size`. */
  extend(timeline: Timeline): void
  slice(turnId: string | undefined): Slice
}

export function createWalk(start: Timeline, memo: Memo): Walk {
  const shown: Line[] = []
  const roundEnds: number[] = []
  const roundNumbers = new Map<string, number>()
  const headers = new Map<string, number>()
  const tools = new Map<string, string>()
  const plans = new Map<string, string>()
  const attachments = new Map<string, number>()
  let attachedBytes = 0
  let lastSummary: string | undefined
  let lastStub = false
  let folding = false // still among the summary and what it preserved
  let size = 0
  let lastSlice: Slice | undefined // asked for several times a round

  function take(block: Block, timeline: Timeline) {
    const call = readToolCall(block)
    if (call) tools.set(call.tool_call_id, call.tool_id)
    folding = block.type === 'conv.range.summary' || (folding && isPreserved(block))
    const context = contextOf(block)
    const replaced = isHidden(block) ? (replacementOf(block, timeline, context) ?? nothing) : undefined
    const parts = replaced ? memo.replaced(block, replaced.text) : memo.parts(block, context)
    if (parts.length === 0) return
    if (block.type === 'turn.header') {
      if (headers.has(block.turn_id)) return // a turn is headed once
      headers.set(block.turn_id, shown.length)
    } else if (!headers.has(block.turn_id) && !folding && block.type !== 'system.message') {
      const header = syntheticHeader(block)
      headers.set(block.turn_id, shown.length)
      push(header, memo.parts(header, contextOf(header)), false)
    }
    const stub = replaced?.stub === true
    push(block, parts, context.continues || (stub && lastStub))
    lastSummary = replaced ? undefined : summaryOf(block, context.callId, context.toolId)
    lastStub = stub
    remember(block, context)
  }

  function push(block: Block, parts: readonly Part[], joined: boolean) {
    const round = folding ? undefined : roundKey(block) // what a summary preserved was made in no round that can be seen
    const position = shown.push({ block, parts, round, joined }) - 1
    if (round === undefined) return
    const number = roundNumbers.get(round) ?? roundEnds.length
    if (number === roundEnds.length) roundNumbers.set(round, number)
    for (let later = number; later < Math.max(number + 1, roundEnds.length); later++) roundEnds[later] = position
  }

  function contextOf(block: Block): ShowContext {
    const callId = callOf(block) ?? callInPath(block.path)
    const toolId = (callId === undefined ? undefined : tools.get(callId)) ?? block.tool_id ?? block.meta?.tool_id
    const summary = isHidden(block) ? undefined : summaryOf(block, callId, toolId)
    const plan = readPlan(block)
    return {
      caps: memo.caps,
      callId,
      toolId,
      continues: summary !== undefined && summary === lastSummary,
      repeats: plan !== undefined && plans.get(plan.plan_id) === planStates(plan),
      attached: isHidden(block) ? undefined : admission(block, toolId),
    }
  }

  function admission(block: Block, toolId: string | undefined): number | NotAttached | undefined {
    const bytes = bytesOf(block)
    if (!bytes) return undefined
    const refused = refusal(block, toolId, memo.caps)
    if (refused) return refused
    const { scope, limit } = attachmentScope(block, memo.caps)
    const number = (attachments.get(scope) ?? 0) + 1
    if (number > limit) return 'number'
    return attachedBytes + bytes.size > memo.caps.messageBytes ? 'message size' : number
  }

  function remember(block: Block, { attached }: ShowContext) {
    if (isHidden(block)) return
    const plan = readPlan(block)
    if (plan) plans.set(plan.plan_id, planStates(plan))
    if (typeof attached !== 'number') return
    attachments.set(attachmentScope(block, memo.caps).scope, attached)
    attachedBytes += bytesOf(block)?.size ?? 0
  }

  function extend(timeline: Timeline) {
    for (; size < timeline.size; size++) take(timeline.spine.blocks[size] as Block, timeline)
  }

  extend(start)
  return {
    spine: start.spine,
    get size() {
      return size
    },
    lines: shown,
    extend,
    slice(turnId) {
      const turnStart = turnId === undefined ? undefined : headers.get(turnId)
      if (lastSlice?.shown.length !== shown.length || lastSlice.turnStart !== turnStart) {
        lastSlice = { shown: shown.slice(), turnStart, roundEnds: roundEnds.slice() }
      }
      return lastSlice
    },
  }
}

const nothing = { text: '', stub: false }

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

function attachmentScope(block: Block, limits: Caps): { readonly scope: string; readonly limit: number } {
  const round = roundKey(block)
  return round === undefined
    ? { scope: `input of ${block.turn_id}`, limit: limits.binariesPerInput }
    : { scope: round, limit: limits.binariesPerRound }
}

/** What each block was shown as, and by what: blocks never change, so it holds as long as what came before them says the same. */
export interface Memo {
  readonly caps: Caps
  parts(block: Block, context: ShowContext): readonly Part[]
  replaced(block: Block, text: string): readonly Part[]
}

export function createMemo({ caps: limits }: RenderSettings): Memo {
  const known = new Map<string, { readonly block: Block; readonly context: ShowContext; readonly parts: readonly Part[] }>()
  const replacements = new Map<string, { readonly text: string; readonly parts: readonly Part[] }>()
  return {
    caps: limits,
    parts(block, context) {
      if (!isBlockType(block.type)) return [] // kept for whoever wrote it, shown to nobody
      const before = known.get(block.id)
      if (before?.block === block && sameContext(before.context, context)) return before.parts
      const parts = renderBlock[block.type](block, context).map(scrubbed)
      known.set(block.id, { block, context, parts })
      return parts
    },
    replaced(block, text) {
      if (text === '') return []
      const before = replacements.get(block.id)
      if (before?.text === text) return before.parts
      const parts = [textPart(text)]
      replacements.set(block.id, { text, parts })
      return parts
    },
  }
}

function sameContext(a: ShowContext, b: ShowContext): boolean {
  return (
    a.toolId === b.toolId && a.callId === b.callId && a.continues === b.continues && a.repeats === b.repeats && a.attached === b.attached
  )
}

function scrubbed(part: Part): Part {
  if (part.type !== 'text') return part
  const text = scrubBase64(part.text)
  return text === part.text ? part : { ...part, text }
}
