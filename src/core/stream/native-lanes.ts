import type { Channel, ChannelEvent } from './channel.ts'
import {
  createDeltaBuffer,
  createLane,
  createLazyLane,
  type EmitDelta,
  type Lane,
  type LaneDelta,
  type LaneEnd,
  type LazyLane,
  withoutRewriting,
} from './lane.ts'
import type { DeliveredAnswer, LaneSettings, Lanes } from './lanes.ts'
import { type ActionLanes, createActionLanes } from './lanes-action.ts'
import type { NativeEvent } from './native-parts.ts'
import { createNativeTextParser } from './native-text.ts'

/** Options of `createNativeLanes`. */
export interface NativeLaneSettings extends LaneSettings {
  readonly channels: readonly Channel[]
  /** Returns the id of the tool that the model calls by this name. */
  readonly toolIdOf: (name: string) => string
  /** The id in the `code_exec.*` deltas of each call, by its position in the response. */
  readonly executionIdOf: (position: number) => string
  /** Whether the text of a response without native calls contains calls written as text. If so, it is shown as notes. */
  readonly hasCallInText: (text: string) => boolean
}

/**
 * Makes the lanes of a native response while the model writes it:
 *
 *   reasoning ──────────────────────────────────────────────▶ thinking
 *   text ── until a call begins ────────────────────────────▶ answer, whose last delta has `as`: `answer` or `notes`
 *       └── after a call has begun ─────────────────────────▶ timeline_text
 *   call ── content, patch, plan, program: like an action ──▶ canvas, timeline_text, subsystem
 *
 * Until the response ends, it is not known whether a text is the answer or notes about a call. Therefore it is shown as an answer, and the
 * last delta of the lane says which of the two it was.
 */
export function createNativeLanes(settings: NativeLaneSettings): Lanes<NativeEvent> {
  const { emit, take } = createDeltaBuffer()
  const parser = createNativeTextParser(settings.channels)
  /** The lanes of all calls, in the order in which the calls began. */
  const actions: ActionLanes[] = []
  /** The lanes of the latest call with each index. An adapter may use any indexes. */
  const byIndex = new Map<number, ActionLanes>()
  let thinking: Lane | undefined
  let text: LazyLane | undefined
  let later: LazyLane | undefined
  let hasText = false
  /** Whether the model has written reasoning after text. If so, later text begins a new paragraph, as in the journal. */
  let interrupted = false
  let textEnded = false
  let shownText = ''
  let notesText = ''
  let delivered: DeliveredAnswer | undefined

  const thinkingLane = () => (thinking ??= createLane(thinkingStyle, withoutRewriting, emit))
  const hasCalls = () => actions.length > 0
  const answerStyle = { marker: 'answer', artifact_name: `react.final_answer.${settings.iteration}`, format: 'markdown' } as const
  const notesStyle = {
    marker: 'timeline_text',
    artifact_name: `timeline_text.react.decision.${settings.iteration}`,
    format: 'markdown',
  } as const
  const markdown = () => settings.replacer('markdown')

  /** Emits the deltas of the text. As long as the text may still become notes, they are marked as undecided. */
  let kind: 'answer' | 'notes' | undefined
  const emitText: EmitDelta = (delta) => emit(delta.completed && kind ? { ...delta, as: kind } : { ...delta, undecided: true })

  function writeText(piece: string): void {
    notesText += piece
    if (hasCalls()) {
      later ??= createLazyLane(notesStyle, markdown, emit)
      later.write(piece)
      return
    }
    shownText += piece
    text ??= createLazyLane(answerStyle, markdown, emitText)
    text.write(piece)
  }

  function endText(as: 'answer' | 'notes', ending: LaneEnd): void {
    if (textEnded) return
    textEnded = true
    kind = as
    text?.end(ending)
    if (as === 'answer' && text?.visible) delivered = { source: 'channel', text: shownText.slice(0, shownText.length - text.unshown) }
  }

  function readChannel(event: ChannelEvent): void {
    if (event.channel === 'thinking') {
      if (event.type === 'channel.delta') thinkingLane().write(event.text)
      else if (event.type === 'channel.end' && event.closed !== 'cut') thinkingLane().end('whole')
    } else if (event.channel === 'answer' && event.type === 'channel.delta') writeText(event.text)
  }

  function startCall(index: number, name: string): void {
    endText('notes', 'whole')
    const lanes = createActionLanes(
      { ...settings, executionId: settings.executionIdOf(actions.length), native: { notes: () => notesText.trim() } },
      emit,
    )
    lanes.push(`{"action":"call_tool","tool_call":{"tool_id":${JSON.stringify(settings.toolIdOf(name))},"params":`)
    actions.push(lanes)
    byIndex.set(index, lanes)
  }

  function endCalls(refused: boolean): void {
    for (const lanes of actions) {
      lanes.end()
      lanes.finish(refused)
      lanes.exec.end()
    }
  }

  const isPlainAnswer = () => !hasCalls() && !settings.hasCallInText(shownText)

  return {
    push(event): readonly LaneDelta[] {
      switch (event.type) {
        case 'reasoning.delta':
          thinkingLane().write(event.text)
          interrupted ||= hasText && event.text !== ''
          break
        case 'text.delta':
          if (event.text === '') break
          for (const piece of parser.push(interrupted ? `\n\n${event.text}` : event.text)) readChannel(piece)
          interrupted = false
          hasText = true
          break
        case 'call.start':
          startCall(event.index, event.name)
          break
        case 'call.delta':
          byIndex.get(event.index)?.push(event.text)
          break
        case 'call.end':
          byIndex.get(event.index)?.push('}}')
          break
        default:
          event satisfies never
      }
      return take()
    },
    end(ending) {
      for (const piece of parser.end()) readChannel(piece)
      thinking?.end(ending)
      endText(isPlainAnswer() ? 'answer' : 'notes', ending)
      later?.end(ending)
      endCalls(false)
      return take()
    },
    abort() {
      thinking?.end('cut')
      endText(isPlainAnswer() ? 'answer' : 'notes', 'cut')
      later?.end('cut')
      endCalls(true)
      return take()
    },
    answer: () => delivered ?? (text?.visible && !textEnded ? { source: 'channel', text: shownText } : undefined),
  }
}

const thinkingStyle = { marker: 'thinking', format: 'markdown' } as const
