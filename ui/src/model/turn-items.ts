import type { AnswerView, ConversationView, LiveLane, LiveRound, RunningCall, StepView, ToolStep, TurnView } from 'daybook/client'

/**
 * The items that the page shows below the message of a turn, in order. The key of an item stays the same when live text becomes an entry of
 * the journal, so that its elements on the page stay the same.
 */
export type TurnItem =
  | { readonly kind: 'thinking' | 'notes'; readonly key: string; readonly text: string; readonly live: boolean }
  | {
      readonly kind: 'tool'
      readonly key: string
      readonly step: ToolStep
      readonly running: boolean
      readonly progress?: string | undefined
    }
  | { readonly kind: 'program'; readonly key: string; readonly text: string; readonly name: string }
  | {
      readonly kind: 'canvas'
      readonly key: string
      readonly text: string
      readonly name: string
      readonly format: string
      readonly live: boolean
    }
  | { readonly kind: 'notice'; readonly key: string; readonly code: string; readonly message: string }
  | { readonly kind: 'message'; readonly key: string; readonly from: 'followup' | 'steer' | 'external'; readonly text: string }
  | { readonly kind: 'summary'; readonly key: string; readonly text: string }
  | AnswerItem

export interface AnswerItem {
  readonly kind: 'answer'
  readonly key: string
  readonly text: string
  readonly live: boolean
  /** True if a followup arrived after this answer, and a later answer replaced it. */
  readonly replaced: boolean
  readonly truncated: boolean
  readonly stopped: boolean
}

/** The items of a turn. `live` is the running round, if it belongs to this turn. */
export function turnItems(turn: TurnView, live: LiveRound | undefined): readonly TurnItem[] {
  const running = new Map(live?.running.map((call) => [call.callId, call]))
  const steps = turn.steps.map((step, index) => itemOfStep(step, index, running))
  const isAnswering = live?.lanes.some(({ marker, text }) => marker === 'answer' && text !== '') ?? false
  const liveItems = live ? live.lanes.flatMap((lane) => itemOfLane(lane, live, turn.answers.length, isAnswering)) : []
  const answers = turn.answers.map((answer, index) => itemOfAnswer(answer, index, isAnswering || index < turn.answers.length - 1))
  return withUniqueKeys([...steps, ...answers, ...liveItems])
}

/** Makes the keys of the items unique, because imported turns may have several steps of one kind in a round. */
function withUniqueKeys(items: readonly TurnItem[]): readonly TurnItem[] {
  const seen = new Map<string, number>()
  return items.map((item) => {
    const count = (seen.get(item.key) ?? 0) + 1
    seen.set(item.key, count)
    return count === 1 ? item : { ...item, key: `${item.key}-${count}` }
  })
}

function itemOfStep(step: StepView, index: number, running: ReadonlyMap<string, RunningCall>): TurnItem {
  switch (step.kind) {
    case 'thinking':
    case 'notes':
      return { kind: step.kind, key: `${step.kind}-${step.iteration}`, text: step.text, live: false }
    case 'tool':
      return {
        kind: 'tool',
        key: `call-${step.callId}`,
        step,
        running: running.has(step.callId),
        progress: running.get(step.callId)?.progress,
      }
    case 'notice':
      return { ...step, key: `notice-${index}` }
    case 'message':
      return { ...step, key: `message-${index}` }
    case 'summary':
      return { ...step, key: `summary-${index}` }
    default:
      return step satisfies never
  }
}

function itemOfLane(
  { marker, artifactName = '', text, format, completed }: LiveLane,
  { iteration }: LiveRound,
  answers: number,
  isAnswering: boolean,
): readonly TurnItem[] {
  if (text === '') return []
  switch (marker) {
    case 'thinking':
      return [{ kind: 'thinking', key: `thinking-${iteration}`, text, live: !isAnswering }]
    case 'timeline_text':
      if (!artifactName.startsWith('timeline_text.react.decision.')) return [] // this is the text of a plan, which the checklist shows
      return [{ kind: 'notes', key: `notes-${iteration}`, text, live: true }]
    case 'answer':
      return [{ kind: 'answer', key: `answer-${answers}`, text, live: true, replaced: false, truncated: false, stopped: false }]
    case 'canvas':
      return [{ kind: 'canvas', key: `canvas-${artifactName}`, text, name: artifactName, format, live: !completed }]
    case 'subsystem':
      // other lanes of a program show its name and its status, and are left out
      return !artifactName.endsWith('code_exec_code') ? [] : [{ kind: 'program', key: `program-${artifactName}`, text, name: artifactName }]
    default:
      return [] // a later release of the server may send other markers
  }
}

const itemOfAnswer = ({ text, truncated, stopped }: AnswerView, index: number, replaced: boolean): AnswerItem => ({
  kind: 'answer',
  key: `answer-${index}`,
  text,
  live: false,
  replaced,
  truncated,
  stopped,
})

/** The turn that runs now. A turn that only waits, for example for an approval, does not run. */
export const runningTurn = ({ turns }: Pick<ConversationView, 'turns'>): TurnView | undefined => {
  const last = turns.at(-1)
  return last && last.endedAt === undefined && !last.parked ? last : undefined
}

/** The key of the document that a call writes. The live document has the same key. Undefined if the call writes no document. */
export function documentKey({ toolId, params: { path, content } }: Pick<ToolStep, 'toolId' | 'params'>): string | undefined {
  return toolId === 'react.write' && typeof path === 'string' && typeof content === 'string' ? `canvas-${path}` : undefined
}
