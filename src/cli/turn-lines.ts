import { type Block, readNotice, readPlan, readToolCall } from '../core/block/index.ts'
import type { StatusEvent } from '../core/event.ts'
import { isObject, parseJson } from '../core/json.ts'
import type { SourceRow } from '../core/sources/source.ts'
import type { Style } from './terminal.ts'
import { plainLine, plainText } from './terminal.ts'

/** The lines that a terminal shows for one event of a turn. */
export type Lines = readonly string[]

const maxTextLength = 120
const marks = { done: '✓', failed: '✗', in_progress: '…', pending: '□' } as const

/** Dims each line by itself, because some terminals reset the style at the end of a line. */
export const dimLines = (text: string, style: Style): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? '' : style.dim(line)))
    .join('\n')

export function statusLines({ status, error }: StatusEvent, style: Style): Lines {
  if (status === 'retrying') return [style.dim(`… trying again: ${plainLine(error?.message ?? 'the model did not answer')}`)]
  if (status === 'compacting') return [style.dim('… the context is full: older turns are summarised')]
  if (status === 'wrapping_up') return [style.dim('… wrapping up')]
  return []
}

export function toolCallLine(block: Block, style: Style): string {
  const call = readToolCall(block)
  return `${style.bold(`→ ${plainLine(call?.tool_id ?? '?')}`)} ${style.dim(shorten(JSON.stringify(call?.params ?? {})))}`
}

/** The outcome of a call, from its result. */
export function resultLine({ text }: Block, style: Style): string {
  const value = parseJson(text)
  const error = isObject(value) && value.ok === false && isObject(value.error) ? value.error : undefined
  return error ? style.failure(`  ✗ ${plainLine(String(error.code))}: ${shorten(String(error.message))}`) : style.success('  ✓')
}

export const fileLines = ({ meta, path }: Block, style: Style): Lines =>
  meta?.rn === undefined ? [] : [`  📄 ${style.link(plainLine(path ?? ''))}`]

export function noticeLines(block: Block, style: Style): Lines {
  const notice = readNotice(block)
  return notice ? [style.dim(`  ! ${notice.code}: ${shorten(notice.message)}`)] : []
}

export function planLines(block: Block, style: Style): Lines {
  const plan = readPlan(block)
  if (!plan?.current) return []
  return plan.steps.map((step, index) => style.dim(`  ${marks[plan.status[String(index + 1)] ?? 'pending']} ${plainLine(step)}`))
}

export const messageLine = ({ text }: Block, style: Style): string => style.bold(`> ${plainText(text || '(stop)')}`)

export const followupLines = ({ meta }: Block, style: Style): Lines =>
  (Array.isArray(meta?.items) ? meta.items : []).map((item) => style.dim(`  · ${plainLine(String(item))}`))

export const sourceLines = (row: SourceRow | undefined, style: Style): Lines =>
  row ? [style.dim(`  [${row.sid}] ${plainLine(`${row.title ?? ''} ${row.url ?? row.artifact_path ?? ''}`)}`)] : []

export const promptLine = ({ text }: Block, style: Style): string => style.bold(`\n> ${plainText(text ?? '')}`)

export const attachmentLine = ({ path }: Block, style: Style): string => style.dim(`  📎 ${plainLine(path ?? '')}`)

const shorten = (text: string) => plainLine(text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength)}…`)
