import type { Plan } from '../../core/block/index.ts'
import type { BlockEvent, BlockEventOf, FileView } from '../../core/view/visible-event.ts'
import type { StepView, ToolStep, TurnView } from './conversation-view.ts'

/** A turn without any blocks. */
export const newTurn = (id: string, startedAt: string): TurnView => ({
  id,
  startedAt,
  endedAt: undefined,
  exitReason: undefined,
  failed: false,
  waits: [],
  parked: false,
  prompt: undefined,
  attachments: [],
  steps: [],
  plans: [],
  answers: [],
  followups: [],
  questions: [],
  files: [],
  usage: { uncached: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0 },
})

/** Returns the turn after one more event. The event is about a block of this turn. */
export function withBlockEvent(turn: TurnView, event: BlockEvent): TurnView {
  switch (event.kind) {
    case 'header':
      return turn
    case 'prompt':
      return { ...turn, prompt: event.text }
    case 'attachment':
      return { ...turn, attachments: withFile(turn.attachments, event.file) }
    case 'thinking':
    case 'notes':
      return withStep(turn, { kind: event.kind, iteration: event.iteration, text: event.text })
    case 'tool.code':
      return withStep(turn, newToolStep(event, { code: event.text }))
    case 'tool.call': {
      const details = { toolId: event.toolId ?? '', params: event.call?.params ?? {} }
      return updateToolStep(turn, event, (step) => ({ ...step, ...details })) ?? withStep(turn, newToolStep(event, details))
    }
    case 'tool.result':
      return withResult(turn, event)
    case 'file':
      return { ...turn, files: withFile(turn.files, event.file) }
    case 'notice': {
      const { code, message } = event
      return (
        updateToolStep(turn, event, (step) => ({ ...step, notices: [...step.notices, { code, message }] })) ??
        withStep(turn, { kind: 'notice', code, message })
      )
    }
    case 'plan':
      return event.plan ? withPlan(turn, event.plan) : turn
    case 'message':
      return withStep(turn, { kind: 'message', from: event.from, text: event.text })
    case 'summary':
      return withStep(turn, { kind: 'summary', text: event.text })
    case 'answer': {
      const { text, sourcesUsed, truncated, stopped } = event
      // At the end of the turn, all its answers arrive again. Answers that arrived earlier are already in the list. So the answer with
      // `first` starts a new list.
      const earlier = event.first ? [] : turn.answers
      return { ...turn, answers: [...earlier, { text, sourcesUsed, truncated, stopped }] }
    }
    case 'followups':
      return { ...turn, followups: event.items }
    case 'questions':
      return { ...turn, questions: event.items }
    default:
      return event satisfies never
  }
}

const withStep = (turn: TurnView, step: StepView): TurnView => ({ ...turn, steps: [...turn.steps, step] })

function newToolStep({ callId, blockId, ts, iteration = 0 }: BlockEventOf<'tool.code' | 'tool.call'>, more: Partial<ToolStep>): ToolStep {
  return {
    kind: 'tool',
    callId: callId ?? blockId,
    toolId: '',
    iteration,
    params: {},
    code: undefined,
    status: 'running',
    startedAt: ts,
    endedAt: undefined,
    notices: [],
    results: [],
    ...more,
  }
}

/** Adds a result to its tool call. The call has failed if one of its results is an error. */
function withResult(turn: TurnView, event: BlockEventOf<'tool.result'>): TurnView {
  const { path, mime, text, failed, ts } = event
  const changed = updateToolStep(turn, event, (step) => ({
    ...step,
    status: failed || step.status === 'failed' ? 'failed' : 'done',
    endedAt: ts,
    results: [...step.results, { path, mime, text }],
  }))
  return changed ?? turn
}

function updateToolStep(
  turn: TurnView,
  { callId }: BlockEventOf<'tool.call' | 'tool.result' | 'notice'>,
  change: (step: ToolStep) => ToolStep,
): TurnView | undefined {
  const at = turn.steps.findLastIndex((step) => step.kind === 'tool' && step.callId === callId)
  const step = turn.steps[at]
  return step?.kind === 'tool' ? { ...turn, steps: turn.steps.with(at, change(step)) } : undefined
}

const withPlan = (turn: TurnView, plan: Plan): TurnView => ({
  ...turn,
  plans: [...turn.plans.filter(({ plan_id }) => plan_id !== plan.plan_id), plan],
})

/** Adds a file. A file with the same path replaces the earlier one. */
function withFile(files: readonly FileView[], file: FileView): readonly FileView[] {
  const at = files.findIndex(({ path }) => path === file.path)
  if (at < 0) return [...files, file]
  return files.with(at, { ...file, rn: file.rn ?? files[at]?.rn, size: file.size ?? files[at]?.size })
}
