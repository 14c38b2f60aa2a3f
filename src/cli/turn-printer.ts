import { type Block, callOf, readNotice, readPlan, readToolCall } from '../core/block/index.ts'
import { replaceBatch } from '../core/citations/replace.ts'
import type { LaneEvent, StatusEvent, TurnEvent } from '../core/event.ts'
import { isObject, parseJson } from '../core/json.ts'
import type { SourceRow } from '../core/sources/source.ts'
import type { Change } from '../core/timeline/change.ts'
import { plainLine, plainText } from './plain-text.ts'
import type { Style } from './style.ts'

const marks = { done: '✓', failed: '✗', in_progress: '…', pending: '□' } as const
const longestParams = 120

export type TurnPrinter = ReturnType<typeof createTurnPrinter>

/**
 * Prints a turn as it happens: thoughts and the answer word by word, tools in a line each, the plan, files, sources, what to ask next.
 * What was watched live is not printed again when it is entered; what was not is printed then.
 */
export function createTurnPrinter(write: (text: string) => void, style: Style) {
  const sources = new Map<number, SourceRow>()
  const watched = new Set<string>()
  let lane: string | undefined
  let fresh = true // at the beginning of a line

  const print = (text: string) => {
    if (text === '') return
    write(text)
    fresh = text.endsWith('\n')
  }
  const line = (text: string) => print(`${fresh ? '' : '\n'}${text}\n`)
  const endLane = () => {
    if (lane !== undefined && !fresh) print('\n')
    lane = undefined
  }

  function live({ turn_id, iteration, attempt, delta }: LaneEvent): void {
    const { marker, text } = delta
    if (marker !== 'thinking' && marker !== 'answer') return
    const key = `${turn_id} ${iteration} ${marker}`
    if (lane !== `${key} ${attempt}`) endLane()
    lane = `${key} ${attempt}`
    if (text !== '') watched.add(key)
    print(marker === 'thinking' ? shade(plainText(text)) : plainText(text))
  }

  /** Line by line: some terminals forget a shade at the end of a line. */
  const shade = (text: string) =>
    text
      .split('\n')
      .map((part) => (part === '' ? '' : style.quiet(part)))
      .join('\n')

  function status({ status: now, error }: StatusEvent): void {
    if (now === 'retrying') line(style.quiet(`… trying again: ${plainLine(error?.message ?? 'the model did not answer')}`))
    if (now === 'compacting') line(style.quiet('… making room: older turns are summarised'))
    if (now === 'wrapping_up') line(style.quiet('… coming to an end'))
  }

  function said(block: Block, marker: string, text: string): void {
    endLane()
    const seen = watched.has(`${block.turn_id} ${block.meta?.iteration ?? 0} ${marker}`)
    if (!seen && text.trim() !== '') line(marker === 'thinking' ? shade(plainText(text)) : plainText(text))
  }

  const interruption = ({ text }: Block) => line(style.strong(`> ${plainText(text || '(stop)')}`))

  /** By type; what is not here is nothing to see. */
  const shown: Readonly<Record<string, (block: Block) => void>> = {
    'react.thinking': (block) => said(block, 'thinking', block.text ?? ''),
    'react.notes'({ text = '' }) {
      endLane()
      line(plainText(text))
    },
    'assistant.completion': (block) => said(block, 'answer', replaceBatch(block.text ?? '', sources, { keepUnresolved: false })),
    'react.tool.call'(block) {
      endLane()
      const call = readToolCall(block)
      line(`${style.strong(`→ ${plainLine(call?.tool_id ?? '?')}`)} ${style.quiet(shorten(JSON.stringify(call?.params ?? {})))}`)
    },
    'react.notice'(block) {
      const notice = readNotice(block)
      if (notice) line(style.quiet(`  ! ${notice.code}: ${shorten(notice.message)}`))
    },
    'react.tool.result'(block) {
      if (block.meta?.rn !== undefined) line(`  📄 ${style.link(plainLine(block.path ?? ''))}`)
      result(block)
    },
    'react.plan': plan,
    'user.followup': interruption,
    'user.steer': interruption,
    'stage.suggested_followups'({ meta }) {
      for (const item of Array.isArray(meta?.items) ? meta.items : []) line(style.quiet(`  · ${plainLine(String(item))}`))
    },
  }

  const answered = new Set<string>()
  function result(entered: Block): void {
    const callId = callOf(entered) ?? ''
    if (answered.has(callId)) return
    answered.add(callId)
    const value = parseJson(entered.text)
    const error = isObject(value) && value.ok === false && isObject(value.error) ? value.error : undefined
    line(error ? style.bad(`  ✗ ${plainLine(String(error.code))}: ${shorten(String(error.message))}`) : style.good('  ✓'))
  }

  function plan(entered: Block): void {
    const shown = readPlan(entered)
    if (!shown?.current) return
    shown.steps.forEach((step, index) => {
      line(style.quiet(`  ${marks[shown.status[String(index + 1)] ?? 'pending']} ${plainLine(step)}`))
    })
  }

  function change(entry: Change): void {
    if (entry.type === 'blocks.appended') for (const block of entry.blocks) shown[block.type]?.(block)
    if (entry.type === 'response.received' && entry.error && entry.error.kind !== 'aborted') {
      endLane()
      line(style.bad(`  ✗ ${plainLine(entry.error.model_name)}: ${plainLine(entry.error.message)}`))
    }
    if (entry.type === 'sources.merged') for (const row of entry.rows) sources.set(row.sid, row)
    if (entry.type === 'sources.used') for (const sid of entry.sids) source(sources.get(sid))
  }

  function source(row: SourceRow | undefined): void {
    if (row) line(style.quiet(`  [${row.sid}] ${plainLine(`${row.title ?? ''} ${row.url ?? row.artifact_path ?? ''}`)}`))
  }

  return {
    print(event: TurnEvent): void {
      if (event.type === 'lane.delta') live(event)
      else if (event.type === 'status') status(event)
      else change(event.change)
    },
    /** What happened before, with what was asked: whoever comes back has it no longer on the screen. */
    printPast(blocks: readonly Block[], rows: readonly SourceRow[]): void {
      for (const row of rows) sources.set(row.sid, row)
      for (const block of blocks) {
        if (block.type === 'user.prompt') line(style.strong(`\n> ${plainText(block.text ?? '')}`))
        else if (block.type === 'user.attachment.meta') line(style.quiet(`  📎 ${plainLine(block.path ?? '')}`))
        else shown[block.type]?.(block)
      }
    },
    endLine: endLane,
  }
}

const shorten = (text: string) => plainLine(text.length <= longestParams ? text : `${text.slice(0, longestParams)}…`)
