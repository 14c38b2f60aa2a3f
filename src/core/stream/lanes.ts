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

export interface LaneSettings {
  /** Number of the decision in its turn, from 0: part of the names of its lanes. */
  readonly iteration: number
  /** Groups the `code_exec.*` deltas of this decision. */
  readonly executionId: string
  readonly replacer: CreateReplacer
  readonly mimeOf: (filename: string) => string
}

/** The answer that a person has seen of this decision, as the model wrote it: it is never asked for again. */
export interface DeliveredAnswer {
  readonly source: 'channel' | 'action'
  readonly text: string
}

/**
 * What a person may watch of one decision while it is written.
 *
 *   thinking ────────────────────────────────────────────────▶ thinking
 *   action ── notes ── if call_tool ─────────────────────────▶ timeline_text
 *         ├── content, patch ── if not internal, not a ref: ─▶ canvas, timeline_text
 *         ├── react.plan ── when whole ──────────────────────▶ timeline_text
 *         └── final_answer ── held to the end ───────────┐
 *   answer ── held until the action says complete, exit ─┴───▶ answer
 *   code ── held until the action calls an exec tool ────────▶ subsystem
 *
 * `final_answer` has to wait: an answer channel may still come, and then, unless that says nothing, nothing of the field is shown. Nothing is ever shown
 * and then taken back. Followups and usage are for programs and have no lane.
 */
export interface Lanes {
  push(event: ChannelEvent): readonly LaneDelta[]
  /**
   * The model has stopped by itself, or was cut by the output limit: then the lane in which that happened ends as aborted.
   * An answer without any action is shown now: it means complete.
   */
  end(ending: LaneEnd): readonly LaneDelta[]
  /** The model was interrupted: what is open ends as aborted, what is held is never shown. */
  abort(): readonly LaneDelta[]
  answer(): DeliveredAnswer | undefined
}

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

  // Each is made when something is written into it: most decisions think and act, and no more.
  const thinkingLane = () => (thinking ??= createLane(thinkingStyle, withoutRewriting, emit))
  const actionLanes = () => (action ??= createActionLanes(settings, emit))
  const isBlank = () => action?.blank ?? true

  function answerLane() {
    const style = { marker: 'answer', artifactName: `react.final_answer.${settings.iteration}`, format: 'markdown' } as const
    return createLazyLane(style, () => settings.replacer('markdown'), emit)
  }

  function showChannelAnswer() {
    shownAnswer ??= answerLane()
    channelAnswer?.release(shownAnswer)
  }

  function reconsiderAnswer() {
    if (channelAnswer?.state !== 'held' || channelText === '' || actions === 0) return
    const verdict = judgeAnswer()
    if (verdict === 'show') showChannelAnswer()
    else if (verdict === 'drop') channelAnswer.drop()
  }

  /** Two actions, another action, or JSON in which none could be found: the round will be refused, and its answer with it. */
  function judgeAnswer(): 'show' | 'drop' | 'wait' {
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
    if (shownAnswer?.visible || actions !== 1 || answer === undefined || judgeAnswer() !== 'show') return
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
      else if (event.closed !== 'cut') finish(event.channel, 'whole') // a cut one is judged by `end`, which knows why
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
