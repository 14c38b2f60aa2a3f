import { type Block, callIdOf, type Digest, readDigest, readNotice, readPlan, readToolCall } from '../../core/block/index.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { FileView, StepView, ToolStep, TurnView } from './conversation-view.ts'

/** A turn before its first block. */
export const newTurn = (id: string, startedAt: string): TurnView => ({
  id,
  startedAt,
  endedAt: undefined,
  exitReason: undefined,
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

/** The turn after one more block. Blocks that are only for the model, and unknown types of imported timelines, change nothing. */
export function withBlock(turn: TurnView, block: Block): TurnView {
  const text = block.text ?? ''
  const iteration = block.meta?.iteration ?? 0
  switch (block.type) {
    case 'user.prompt':
      return { ...turn, prompt: text }
    case 'user.attachment.meta':
    case 'user.attachment':
      return { ...turn, attachments: withFile(turn.attachments, block) }
    case 'react.thinking':
      return withStep(turn, { kind: 'thinking', iteration, text })
    case 'react.notes':
      return withStep(turn, { kind: 'notes', iteration, text })
    case 'react.tool.code':
      return withStep(turn, newToolStep(block, { code: text }))
    case 'react.tool.call':
      return withCall(turn, block)
    case 'react.notice':
      return withNotice(turn, block)
    case 'react.tool.result':
      return withResult(turn, block)
    case 'react.plan':
      return withPlan(turn, block)
    case 'user.followup':
    case 'user.steer':
      return withStep(turn, { kind: 'message', from: block.type === 'user.steer' ? 'steer' : 'followup', text })
    case 'event.external':
      return withStep(turn, { kind: 'message', from: 'external', text })
    case 'conv.range.summary':
      return withStep(turn, { kind: 'summary', text })
    case 'assistant.completion':
    case 'assistant.completion.attempt':
      return withAnswer(turn, block)
    case 'stage.suggested_followups':
      return { ...turn, followups: stringsIn(block.meta?.items) }
    case 'stage.clarification':
      return { ...turn, questions: stringsIn(block.meta?.questions) }
    default:
      return turn
  }
}

const withStep = (turn: TurnView, step: StepView): TurnView => ({ ...turn, steps: [...turn.steps, step] })

function newToolStep(block: Block, more: Partial<ToolStep>): ToolStep {
  const callId = callIdOf(block) ?? block.id
  const iteration = block.meta?.iteration ?? 0
  return { kind: 'tool', callId, toolId: '', iteration, params: {}, code: undefined, status: 'running', notices: [], results: [], ...more }
}

function withCall(turn: TurnView, block: Block): TurnView {
  const call = readToolCall(block)
  const details = { toolId: call?.tool_id ?? block.tool_id ?? '', params: call?.params ?? {} }
  return updateToolStep(turn, block, (step) => ({ ...step, ...details })) ?? withStep(turn, newToolStep(block, details))
}

/** A notice about a call, or about a reply that was rejected. */
function withNotice(turn: TurnView, block: Block): TurnView {
  const notice = readNotice(block)
  if (!notice) return turn
  const { code, message } = notice
  return (
    updateToolStep(turn, block, (step) => ({ ...step, notices: [...step.notices, { code, message }] })) ??
    withStep(turn, { kind: 'notice', code, message })
  )
}

function withResult(turn: TurnView, block: Block): TurnView {
  const { path, mime, text } = block
  const failed = isFailure(block)
  const changed = updateToolStep(turn, block, (step) => ({
    ...step,
    status: failed || step.status === 'failed' ? 'failed' : 'done',
    results: [...step.results, { path, mime, text }],
  }))
  const delivered = block.meta?.rn !== undefined
  return { ...(changed ?? turn), ...(delivered && { files: withFile(turn.files, block) }) }
}

function isFailure({ mime, text }: Block): boolean {
  if (mime !== 'application/json' || !text?.startsWith('{"ok":false')) return false // every failed result begins like this; parsing each result would be slow
  const result = parseJson(text)
  return isObject(result) && result.ok === false
}

function updateToolStep(turn: TurnView, block: Block, change: (step: ToolStep) => ToolStep): TurnView | undefined {
  const callId = callIdOf(block)
  const at = turn.steps.findLastIndex((step) => step.kind === 'tool' && step.callId === callId)
  const step = turn.steps[at]
  return step?.kind === 'tool' ? { ...turn, steps: turn.steps.with(at, change(step)) } : undefined
}

function withPlan(turn: TurnView, block: Block): TurnView {
  const plan = readPlan(block)
  if (!plan) return turn
  const others = turn.plans.filter(({ plan_id }) => plan_id !== plan.plan_id)
  return { ...turn, plans: [...others, plan] }
}

/** Attempts are appended again as completions when the turn ends; the first completion replaces the list. */
function withAnswer(turn: TurnView, { type, text = '', meta }: Block): TurnView {
  const answer = { text, sourcesUsed: meta?.sources_used ?? [], truncated: meta?.truncated === true }
  const first = type === 'assistant.completion' && (meta?.completion_index ?? 1) === 1
  return { ...turn, answers: first ? [answer] : [...turn.answers, answer] }
}

function withFile(files: readonly FileView[], block: Block): readonly FileView[] {
  const file = fileOf(block)
  const at = files.findIndex(({ path }) => path === file.path)
  if (at < 0) return [...files, file]
  return files.with(at, { ...file, rn: file.rn ?? files[at]?.rn, size: file.size ?? files[at]?.size })
}

function fileOf(block: Block): FileView {
  const digest: Partial<Digest> = readDigest(block) ?? (parseJson(block.meta?.digest) as Digest | undefined) ?? {}
  const path = digest.artifact_path ?? block.path ?? ''
  const named = block.meta?.filename
  return {
    path,
    filename: typeof named === 'string' ? named : (path.split('/').at(-1) ?? path),
    mime: digest.mime ?? block.mime,
    size: typeof digest.size_bytes === 'number' ? digest.size_bytes : undefined,
    rn: block.meta?.rn,
    description: typeof digest.description === 'string' ? digest.description : undefined,
  }
}

const stringsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [])
