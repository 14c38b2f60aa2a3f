import type { ChannelEvent } from './channel.ts'
import {
  type CreateReplacer,
  createDeltaBuffer,
  createHeldLane,
  createLane,
  createLazyLane,
  type HeldLane,
  type Lane,
  type LaneDelta,
  type LaneEnd,
  type LazyLane,
  withoutRewriting,
} from './lane.ts'
import { type ActionLanes, createActionLanes } from './lanes-action.ts'

/** Options of `createLanes`. */
export interface LaneSettings {
  /** Number of the round in its turn, from 0; part of the lane names. */
  readonly iteration: number
  /** Groups the `code_exec.*` deltas of this decision. */
  readonly executionId: string
  readonly replacer: CreateReplacer
  readonly mimeOf: (filename: string) => string
}

/** The answer that the user has seen, as the model wrote it. The model is not asked for it again. */
export interface DeliveredAnswer {
  readonly source: 'channel' | 'action'
  readonly text: string
}

/**
 * Shows the parts of one response that the user may see while the model writes it.
 *
 *   thinking ────────────────────────────────────────────────▶ thinking
 *   action ── notes ── if call_tool ─────────────────────────▶ timeline_text
 *         ├── content, patch ── if not internal, not a ref: ─▶ canvas, timeline_text
 *         ├── react.plan ── when complete ───────────────────▶ timeline_text
 *         └── final_answer ── held to the end ───────────┐
 *   answer ── held until the action says complete, exit ─┴───▶ answer
 *   code ── held until the action calls an exec tool ────────▶ subsystem
 *
 * `final_answer` has to wait, because an answer channel may follow and replaces it unless it is blank. Text that was shown is never
 * taken back. The channels `followup` and `usage` are for programs and have no lane.
 */
export interface Lanes {
  push(event: ChannelEvent): readonly LaneDelta[]
  /**
   * Ends the response: `whole`, or `aborted` by the output limit; then the open lane ends as aborted. An answer without an action is
   * shown now, because it means `complete`.
   */
  end(ending: LaneEnd): readonly LaneDelta[]
  /** Ends an interrupted response: open lanes end as aborted, and held text is not shown. */
  abort(): readonly LaneDelta[]
  answer(): DeliveredAnswer | undefined
}

/** Turns the channels of a decision into the lanes that users watch. */
export function createLanes(settings: LaneSettings): Lanes {
  const { emit, take } = createDeltaBuffer()
  const open = new Set<string>()
  let thinking: Lane | undefined
  let action: ActionLanes | undefined
  let channelAnswer: HeldLane | undefined
  let shownAnswer: LazyLane | undefined
  let actions = 0
  let channelText = ''
  let delivered: DeliveredAnswer | undefined

  // Created on first use: most responses only have thinking and an action.
  const thinkingLane = () => (thinking ??= createLane(thinkingStyle, withoutRewriting, emit))
  const actionLanes = () => (action ??= createActionLanes(settings, emit))
  const isBlank = () => action?.blank ?? true

  function answerLane() {
    const style = { marker: 'answer', artifact_name: `react.final_answer.${settings.iteration}`, format: 'markdown' } as const
    return createLazyLane(style, () => settings.replacer('markdown'), emit)
  }

  function showChannelAnswer() {
    shownAnswer ??= answerLane()
    channelAnswer?.release(shownAnswer)
  }

  function reconsiderAnswer() {
    if (channelAnswer?.state !== 'held' || channelText === '' || actions === 0) return
    const verdict = answerVerdict()
    if (verdict === 'show') showChannelAnswer()
    else if (verdict === 'drop') channelAnswer.drop()
  }

  /** Whether to show the answer. It is dropped with two actions, another action or invalid JSON: the response will then be rejected. */
  function answerVerdict(): 'show' | 'drop' | 'wait' {
    if (actions > 1) return 'drop'
    if (action?.action === 'complete' || action?.action === 'exit') return 'show'
    return open.has('action') || isBlank() ? 'wait' : 'drop'
  }

  function start({ channel }: ChannelEvent) {
    open.add(channel)
    if (channel === 'action') actions++
  }

  function write(channel: string, text: string) {
    if (channel === 'thinking') thinkingLane().write(text)
    else if (channel === 'code') actionLanes().exec.write(text)
    else if (channel === 'action' && actions === 1) actionLanes().push(text)
    else if (channel === 'answer') {
      channelText += text
      channelAnswer ??= createHeldLane()
      channelAnswer.write(text)
    }
  }

  function finish(channel: string, ending: LaneEnd) {
    open.delete(channel)
    if (channel === 'thinking') thinkingLane().end(ending)
    else if (channel === 'code') actionLanes().exec.endCode(ending)
    else if (channel === 'action' && actions === 1) actionLanes().end()
    else if (channel === 'answer') channelAnswer?.end(ending)
  }

  function showFieldAnswer() {
    const answer = action?.answer
    if (shownAnswer?.visible || actions !== 1 || answer === undefined || answerVerdict() !== 'show') return
    const lane = answerLane()
    let text = ''
    answer.release({
      write(piece) {
        text += piece
        lane.write(piece)
      },
      end: lane.end,
    })
    if (lane.visible) delivered = { source: 'action', text }
  }

  return {
    push(event) {
      if (event.type === 'channel.start') start(event)
      else if (event.type === 'channel.delta') write(event.channel, event.text)
      else if (event.closed !== 'cut') finish(event.channel, 'whole') // `end` handles a channel that was cut, because it knows the reason
      if (event.channel === 'action' || event.channel === 'answer') reconsiderAnswer()
      return take()
    },
    end(ending) {
      for (const channel of open) finish(channel, ending)
      reconsiderAnswer()
      if (actions === 0 || (actions === 1 && isBlank())) showChannelAnswer()
      showFieldAnswer()
      action?.exec.end()
      return take()
    },
    abort() {
      for (const channel of open) finish(channel, 'aborted')
      return take()
    },
    answer() {
      return delivered ?? (shownAnswer?.visible ? { source: 'channel', text: channelText } : undefined)
    },
  }
}

const thinkingStyle = { marker: 'thinking', format: 'markdown' } as const
