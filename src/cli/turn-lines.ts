import type { Plan } from '../core/block/index.ts'
import { ellipsize } from '../core/cut.ts'
import type { StatusEvent } from '../core/event.ts'
import type { ServiceError } from '../core/model-event.ts'
import type { SourceRow } from '../core/sources/source.ts'
import type { Wait } from '../core/timeline/change.ts'
import type { BlockEventOf, FileView } from '../core/view/visible-event.ts'
import type { Style } from './terminal.ts'
import { plainLine, plainText } from './terminal.ts'

/** The lines that a terminal shows for one event of a turn. */
export type Lines = readonly string[]

const maxTextLength = 120
const marks = { done: '✓', failed: '✗', in_progress: '…', pending: '□' } as const

/** Dims text line by line, because some terminals reset the style at the end of a line. */
export const dimLines = (text: string, style: Style): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? '' : style.dim(line)))
    .join('\n')

export function statusLines({ status, text, error }: StatusEvent, style: Style): Lines {
  if (status === 'tool.progress') return [style.dim(`  … ${plainLine(text ?? '')}`)]
  if (status === 'retrying') return [style.dim(`… trying again: ${plainLine(error?.message ?? 'the model did not answer')}`)]
  if (status === 'compacting') return [style.dim('… the context is full: older turns are summarised')]
  if (status === 'wrapping_up') return [style.dim('… wrapping up')]
  return []
}

export const modelErrorLine = ({ model_name, message }: ServiceError, style: Style): string =>
  style.failure(`  ✗ ${plainLine(model_name)}: ${plainLine(message)}`)

export const toolCallLine = ({ toolId, call }: BlockEventOf<'tool.call'>, style: Style): string =>
  `${style.bold(`→ ${plainLine(toolId ?? '?')}`)} ${style.dim(shorten(JSON.stringify(call?.params ?? {})))}`

/** The line that tells whether a tool call succeeded. */
export const resultLine = ({ error }: BlockEventOf<'tool.result'>, style: Style): string =>
  error ? style.failure(`  ✗ ${plainLine(error.code)}: ${shorten(error.message)}`) : style.success('  ✓')

export const fileLine = ({ path }: FileView, style: Style): string => `  📄 ${style.link(plainLine(path))}`

export const noticeLine = ({ code, message }: BlockEventOf<'notice'>, style: Style): string =>
  style.dim(`  ! ${[code, shorten(message)].filter((words) => words !== '').join(': ')}`)

export function planLines(plan: Plan | undefined, style: Style): Lines {
  if (!plan?.current) return []
  return plan.steps.map((step, index) => style.dim(`  ${marks[plan.status[String(index + 1)] ?? 'pending']} ${plainLine(step)}`))
}

export const messageLine = ({ text }: BlockEventOf<'message'>, style: Style): string => style.bold(`> ${plainText(text || '(stop)')}`)

/** The line after an answer that is not complete. */
export const cutAnswerLine = ({ stopped }: BlockEventOf<'answer'>, style: Style): string =>
  style.dim(stopped ? '  (stopped here)' : '  (cut off here)')

export const followupLines = (items: readonly string[], style: Style): Lines => items.map((item) => style.dim(`  · ${plainLine(item)}`))

export const sourceLines = (row: SourceRow | undefined, style: Style): Lines =>
  row ? [style.dim(`  [${row.sid}] ${plainLine(`${row.title ?? ''} ${row.url ?? row.artifact_path ?? ''}`)}`)] : []

export const promptLine = ({ text }: BlockEventOf<'prompt'>, style: Style): string => style.bold(`\n> ${plainText(text)}`)

export const attachmentLine = ({ path }: FileView, style: Style): string => style.dim(`  📎 ${plainLine(path)}`)

/** The line for something that the turn waits for. */
export const waitLine = ({ kind, question, call_id, wait_id }: Wait, style: Style): string => {
  const what = question ?? (kind === 'later' ? 'a result arrives later' : kind)
  return style.bold(`  ? ${plainLine(what)}`) + style.dim(` (${plainLine(call_id ?? wait_id)})`)
}

const shorten = (text: string) => plainLine(ellipsize(text, maxTextLength))
