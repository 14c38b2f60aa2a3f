import { type Block, type BlockType, callIdOf } from '../core/block/index.ts'
import { replaceBatch } from '../core/citations/replace.ts'
import type { LaneEvent, TurnEvent } from '../core/event.ts'
import type { SourceRow } from '../core/sources/source.ts'
import type { Change } from '../core/timeline/change.ts'
import { plainLine, plainText, type Style } from './terminal.ts'
import {
  attachmentLine,
  dimLines,
  fileLines,
  followupLines,
  type Lines,
  messageLine,
  noticeLines,
  planLines,
  promptLine,
  resultLine,
  sourceLines,
  statusLines,
  toolCallLine,
} from './turn-lines.ts'

export type TurnPrinter = ReturnType<typeof createTurnPrinter>

/**
 * Prints a turn as it happens: thinking and the answer as they stream, a line per tool call, the plan, files, sources and suggested
 * followups. Text that was streamed is not printed again when its entry comes; text that was not is printed then.
 */
export function createTurnPrinter(write: (text: string) => void, style: Style) {
  const writer = createLineWriter(write)
  const sources = new Map<number, SourceRow>()
  const lanes = createLanePrinter(writer, style)
  const printBlock = createBlockPrinter({ writer, style, lanes, sources })

  function printChange(change: Change): void {
    if (change.type === 'blocks.appended') for (const block of change.blocks) printBlock(block)
    if (change.type === 'response.received' && change.error && change.error.kind !== 'aborted') {
      writer.endStream()
      writer.line(style.failure(`  ✗ ${plainLine(change.error.model_name)}: ${plainLine(change.error.message)}`))
    }
    if (change.type === 'sources.merged') for (const row of change.rows) sources.set(row.sid, row)
    if (change.type === 'sources.used') for (const sid of change.sids) sourceLines(sources.get(sid), style).forEach(writer.line)
  }

  return {
    print(event: TurnEvent): void {
      if (event.type === 'lane.delta') lanes.printDelta(event)
      else if (event.type === 'status') statusLines(event, style).forEach(writer.line)
      else printChange(event.change)
    },
    /** Prints earlier turns, with their prompts and attachments. */
    printHistory(blocks: readonly Block[], rows: readonly SourceRow[]): void {
      for (const row of rows) sources.set(row.sid, row)
      for (const block of blocks) {
        if (block.type === 'user.prompt') writer.line(promptLine(block, style))
        else if (block.type === 'user.attachment.meta') writer.line(attachmentLine(block, style))
        else printBlock(block)
      }
    },
    endLine: writer.endStream,
  }
}

type LaneName = 'thinking' | 'answer'

interface LanePrinter {
  printDelta(event: LaneEvent): void
  /** Prints the text of a block, unless it was streamed. */
  printBlock(block: Block, lane: LaneName, text: string): void
}

function createLanePrinter(writer: LineWriter, style: Style): LanePrinter {
  const streamed = new Set<string>()
  const styled = (lane: LaneName, text: string) => (lane === 'thinking' ? dimLines(plainText(text), style) : plainText(text))

  return {
    printDelta({ turn_id, iteration, attempt, delta: { marker, text } }) {
      if (marker !== 'thinking' && marker !== 'answer') return
      const key = `${turn_id} ${iteration} ${marker}`
      if (text !== '') streamed.add(key)
      writer.append(`${key} ${attempt}`, styled(marker, text))
    },
    printBlock({ turn_id, meta }, lane, text) {
      writer.endStream()
      if (streamed.has(`${turn_id} ${meta?.iteration ?? 0} ${lane}`) || text.trim() === '') return
      writer.line(styled(lane, text))
    },
  }
}

interface BlockPrinterParts {
  readonly writer: LineWriter
  readonly style: Style
  readonly lanes: LanePrinter
  readonly sources: ReadonlyMap<number, SourceRow>
}

function createBlockPrinter({ writer, style, lanes, sources }: BlockPrinterParts): (block: Block) => void {
  const { line } = writer
  const finishedCalls = new Set<string>()
  const inLines = (lines: (block: Block, style: Style) => Lines) => (block: Block) => lines(block, style).forEach(line)
  const lineAfterStream = (text: string) => {
    writer.endStream()
    line(text)
  }

  /** A call may have several results; its outcome is printed once. */
  function printResult(block: Block): void {
    fileLines(block, style).forEach(line)
    const callId = callIdOf(block) ?? ''
    if (!finishedCalls.has(callId)) line(resultLine(block, style))
    finishedCalls.add(callId)
  }

  /** By block type; other types are not shown. */
  const printers: { readonly [T in BlockType]?: (block: Block) => void } = {
    'react.thinking': (block) => lanes.printBlock(block, 'thinking', block.text ?? ''),
    'react.notes': ({ text = '' }) => lineAfterStream(plainText(text)),
    'assistant.completion': (block) =>
      lanes.printBlock(block, 'answer', replaceBatch(block.text ?? '', sources, { keepUnresolved: false })),
    'react.tool.call': (block) => lineAfterStream(toolCallLine(block, style)),
    'react.notice': inLines(noticeLines),
    'react.tool.result': printResult,
    'react.plan': inLines(planLines),
    'user.followup': (block) => line(messageLine(block, style)),
    'user.steer': (block) => line(messageLine(block, style)),
    'stage.suggested_followups': inLines(followupLines),
  }
  return (block) => {
    if (Object.hasOwn(printers, block.type)) printers[block.type]?.(block)
  }
}

/** Writes lines and streams of text, and knows whether the output is at the start of a line. */
interface LineWriter {
  /** Text on a line of its own. */
  line(text: string): void
  /** Appends to a stream of text. Another stream begins on a new line. */
  append(stream: string, text: string): void
  /** Ends the stream and its line. */
  endStream(): void
}

function createLineWriter(write: (text: string) => void): LineWriter {
  let stream: string | undefined
  let lineStart = true

  function print(text: string): void {
    if (text === '') return
    write(text)
    lineStart = text.endsWith('\n')
  }
  function endStream(): void {
    if (stream !== undefined && !lineStart) print('\n')
    stream = undefined
  }

  return {
    line: (text) => print(`${lineStart ? '' : '\n'}${text}\n`),
    append(name, text) {
      if (stream !== name) endStream()
      stream = name
      print(text)
    },
    endStream,
  }
}
