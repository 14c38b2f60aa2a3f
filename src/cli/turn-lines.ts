import { type Block, readNotice, readPlan, readToolCall } from '../core/block/index.ts'
import type { StatusEvent } from '../core/event.ts'
import { isObject, parseJson } from '../core/json.ts'
import type { SourceRow } from '../core/sources/source.ts'
import { plainLine, plainText } from './plain-text.ts'
import type { Style } from './style.ts'

/** What is seen of a turn, line by line: a thing that happened, and the lines that tell of it. */
export type Lines = readonly string[]

const longestShown = 120
const marks = { done: '✓', failed: '✗', in_progress: '…', pending: '□' } as const

/** Line by line: some terminals forget a shade at the end of a line. */
export const shaded = (text: string, style: Style): string =>
  text
    .split('\n')
    .map((part) => (part === '' ? '' : style.quiet(part)))
    .join('\n')

export function statusLines({ status, error }: StatusEvent, style: Style): Lines {
  if (status === 'retrying') return [style.quiet(`… trying again: ${plainLine(error?.message ?? 'the model did not answer')}`)]
  if (status === 'compacting') return [style.quiet('… making room: older turns are summarised')]
  if (status === 'wrapping_up') return [style.quiet('… coming to an end')]
  return []
}

export function toolCallLine(block: Block, style: Style): string {
  const call = readToolCall(block)
  return `${style.strong(`→ ${plainLine(call?.tool_id ?? '?')}`)} ${style.quiet(shortened(JSON.stringify(call?.params ?? {})))}`
}

/** A tool that could not says so in its result. */
export function resultLine({ text }: Block, style: Style): string {
  const value = parseJson(text)
  const error = isObject(value) && value.ok === false && isObject(value.error) ? value.error : undefined
  return error ? style.bad(`  ✗ ${plainLine(String(error.code))}: ${shortened(String(error.message))}`) : style.good('  ✓')
}

export const hostedFileLines = ({ meta, path }: Block, style: Style): Lines =>
  meta?.rn === undefined ? [] : [`  📄 ${style.link(plainLine(path ?? ''))}`]

export function noticeLines(block: Block, style: Style): Lines {
  const notice = readNotice(block)
  return notice ? [style.quiet(`  ! ${notice.code}: ${shortened(notice.message)}`)] : []
}

export function planLines(block: Block, style: Style): Lines {
  const plan = readPlan(block)
  if (!plan?.current) return []
  return plan.steps.map((step, index) => style.quiet(`  ${marks[plan.status[String(index + 1)] ?? 'pending']} ${plainLine(step)}`))
}

export const interruptionLine = ({ text }: Block, style: Style): string => style.strong(`> ${plainText(text || '(stop)')}`)

export const followupLines = ({ meta }: Block, style: Style): Lines =>
  (Array.isArray(meta?.items) ? meta.items : []).map((item) => style.quiet(`  · ${plainLine(String(item))}`))

export const sourceLines = (row: SourceRow | undefined, style: Style): Lines =>
  row ? [style.quiet(`  [${row.sid}] ${plainLine(`${row.title ?? ''} ${row.url ?? row.artifact_path ?? ''}`)}`)] : []

export const promptLine = ({ text }: Block, style: Style): string => style.strong(`\n> ${plainText(text ?? '')}`)

export const attachmentLine = ({ path }: Block, style: Style): string => style.quiet(`  📎 ${plainLine(path ?? '')}`)

const shortened = (text: string) => plainLine(text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`)
