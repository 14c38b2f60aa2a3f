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
  /** The number of the round in its turn, from 0. Lane names such as `react.final_answer.0` contain it. */
  readonly iteration: number
  /** The id in all `code_exec.*` deltas of this response. */
  readonly executionId: string
  readonly replacer: CreateReplacer
  readonly mimeOf: (filename: string) => string
  /**
   * Whether a file that exists is internal. The lane that shows a patch of an internal file is marked as internal. By default no file is
   * internal.
   */
  readonly isInternalFile?: (path: string) => boolean
}

/**
 * The answer that the user has seen. The text is as the model wrote it, with citations such as `[[S:1]]`. If the response is rejected for
 * another reason, this answer is used, and the model is not asked for it again.
 */
export interface DeliveredAnswer {
  readonly source: 'channel' | 'action'
  readonly text: string
}

/**
 * Makes the lanes of one response while the model writes it. On the left are the channels of the response, on the right the markers of the
 * lanes. Text that is kept is collected, but not shown yet:
 *
 *   thinking ────────────────────────────────────────────────▶ thinking
 *   action ── notes ── if call_tool ─────────────────────────▶ timeline_text
 *         ├── content, patch ── if not internal, not a ref: ─▶ canvas, timeline_text
 *         ├── react.plan ── when complete ───────────────────▶ timeline_text
 *         └── final_answer ── kept until the end ────────┐
 *   answer ── kept until the action is complete ─────────┴───▶ answer
 *   code ── kept until a call of an exec tool is complete ───▶ subsystem
 *
 * `final_answer` is shown at the end of the response, and only if no answer channel with visible text came. Text that was shown is never
 * taken back. The lane of `content` ends with the response. If the response is rejected, this lane ends as aborted. The channels `followup`
 * and `usage` are for programs and have no lane.
 */
export interface Lanes<Event = ChannelEvent> {
  push(event: Event): readonly LaneDelta[]
  /**
   * Ends the response. `ending` is `aborted` when the response reached the output limit. In this case lanes that are still open end as
   * aborted. If the response has an answer channel but no action, the answer is shown now, because such a response means `complete`.
   */
  end(ending: LaneEnd): readonly LaneDelta[]
  /**
   * Ends a response that was interrupted. Open lanes end as aborted. Text that lanes have held back, such as half of a citation, is not
   * shown.
   */
  abort(): readonly LaneDelta[]
  answer(): DeliveredAnswer | undefined
}

/** Creates the lanes of one response. */
export function createLanes(settings: LaneSettings): Lanes {
  const { emit, take } = createDeltaBuffer()
  let open: string | undefined // the open channel; opening another channel closes it
  let thinking: Lane | undefined
  let action: ActionLanes | undefined
  let channelAnswer: HeldLane | undefined
  let shownAnswer: LazyLane | undefined
  let actions = 0
  let channelText = ''
  let hasAnswer = false
  let hasCode = false
  let delivered: DeliveredAnswer | undefined

  // These lanes are created when they are first needed.
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

  /**
   * Whether to show the answer. This is decided when the action is complete. The answer is dropped in these cases: there are two actions;
   * the action is not `complete` or `exit`; the action is rejected; the action also calls a tool.
   */
  function answerVerdict(): 'show' | 'drop' | 'wait' {
    if (actions > 1) return 'drop'
    if (open === 'action' || isBlank()) return 'wait'
    return action?.allowsAnswer ? 'show' : 'drop'
  }

  function start({ channel }: ChannelEvent) {
    open = channel
    if (channel === 'action') actions++
  }

  function write(channel: string, text: string) {
    if (channel === 'thinking') thinkingLane().write(text)
    else if (channel === 'code') {
      hasCode ||= text.trim() !== ''
      actionLanes().exec.write(text)
    } else if (channel === 'action' && actions === 1) actionLanes().push(text)
    else if (channel === 'answer') hasAnswer ||= text.trim() !== ''
    if (channel === 'answer' && actions <= 1) {
      channelText += text
      channelAnswer ??= createHeldLane()
      channelAnswer.write(text)
    }
  }

  function finish(channel: string, ending: LaneEnd) {
    if (open === channel) open = undefined
    if (channel === 'thinking') thinkingLane().end(ending)
    else if (channel === 'code') actionLanes().exec.endCode(ending)
    else if (channel === 'action' && actions === 1) actionLanes().end()
    else if (channel === 'answer' && actions <= 1) channelAnswer?.end(ending)
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
      else if (event.closed !== 'cut') finish(event.channel, 'whole') // a channel that was cut off is finished by a later call of `end` or `abort`
      if (event.channel === 'action' || event.channel === 'answer') reconsiderAnswer()
      return take()
    },
    end(ending) {
      if (open !== undefined) finish(open, ending)
      reconsiderAnswer()
      if (actions === 0 || (actions === 1 && isBlank())) showChannelAnswer()
      showFieldAnswer()
      action?.finish(actions > 1 || hasAnswer || (hasCode && !action.exec.started))
      action?.exec.end()
      return take()
    },
    abort() {
      if (open !== undefined) finish(open, 'cut')
      action?.finish(true)
      return take()
    },
    answer() {
      if (delivered || !shownAnswer?.visible) return delivered
      return { source: 'channel', text: channelText.slice(0, channelText.length - shownAnswer.unshown) }
    },
  }
}

const thinkingStyle = { marker: 'thinking', format: 'markdown' } as const
