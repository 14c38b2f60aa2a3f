import { type Block, callIdOf } from '../core/block/index.ts'
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
 * Prints a turn as it happens: thoughts and the answer word by word, tools in a line each, the plan, files, sources, what to ask next.
 * What was watched live is not printed again when it is entered; what was not is printed then.
 */
export function createTurnPrinter(write: (text: string) => void, style: Style) {
  const paper = createLineWriter(write)
  const sources = new Map<number, SourceRow>()
  const speech = createLanePrinter(paper, style)
  const show = createBlockPrinter({ paper, style, speech, sources })

  function change(entry: Change): void {
    if (entry.type === 'blocks.appended') for (const block of entry.blocks) show(block)
    if (entry.type === 'response.received' && entry.error && entry.error.kind !== 'aborted') {
      paper.endStream()
      paper.line(style.failure(`  ✗ ${plainLine(entry.error.model_name)}: ${plainLine(entry.error.message)}`))
    }
    if (entry.type === 'sources.merged') for (const row of entry.rows) sources.set(row.sid, row)
    if (entry.type === 'sources.used') for (const sid of entry.sids) sourceLines(sources.get(sid), style).forEach(paper.line)
  }

  return {
    print(event: TurnEvent): void {
      if (event.type === 'lane.delta') speech.printDelta(event)
      else if (event.type === 'status') statusLines(event, style).forEach(paper.line)
      else change(event.change)
    },
    /** What happened before, with what was asked: whoever comes back has it no longer on the screen. */
    printPast(blocks: readonly Block[], rows: readonly SourceRow[]): void {
      for (const row of rows) sources.set(row.sid, row)
      for (const block of blocks) {
        if (block.type === 'user.prompt') paper.line(promptLine(block, style))
        else if (block.type === 'user.attachment.meta') paper.line(attachmentLine(block, style))
        else show(block)
      }
    },
    endLine: paper.endStream,
  }
}

type LaneName = 'thinking' | 'answer'

interface LanePrinter {
  printDelta(event: LaneEvent): void
  /** What was said, now that it is entered: printed unless somebody watched it being said. */
  printBlock(block: Block, speaker: LaneName, text: string): void
}

function createLanePrinter(paper: LineWriter, style: Style): LanePrinter {
  const watched = new Set<string>()
  const drawn = (speaker: LaneName, text: string) => (speaker === 'thinking' ? dimLines(plainText(text), style) : plainText(text))

  return {
    printDelta({ turn_id, iteration, attempt, delta: { marker, text } }) {
      if (marker !== 'thinking' && marker !== 'answer') return
      const key = `${turn_id} ${iteration} ${marker}`
      if (text !== '') watched.add(key)
      paper.append(`${key} ${attempt}`, drawn(marker, text))
    },
    printBlock({ turn_id, meta }, speaker, text) {
      paper.endStream()
      const seen = watched.has(`${turn_id} ${meta?.iteration ?? 0} ${speaker}`)
      if (!seen && text.trim() !== '') paper.line(drawn(speaker, text))
    },
  }
}

interface BlockPrinterParts {
  readonly paper: LineWriter
  readonly style: Style
  readonly speech: LanePrinter
  readonly sources: ReadonlyMap<number, SourceRow>
}

function createBlockPrinter({ paper, style, speech, sources }: BlockPrinterParts): (block: Block) => void {
  const { line } = paper
  const answered = new Set<string>()
  const inLines = (lines: (block: Block, style: Style) => Lines) => (block: Block) => lines(block, style).forEach(line)
  const afterWords = (text: string) => {
    paper.endStream()
    line(text)
  }

  /** A call may have several results; how it went is said once. */
  function result(block: Block): void {
    fileLines(block, style).forEach(line)
    const callId = callIdOf(block) ?? ''
    if (!answered.has(callId)) line(resultLine(block, style))
    answered.add(callId)
  }

  /** By type; what is not here is nothing to see. */
  const shown: Readonly<Record<string, (block: Block) => void>> = {
    'react.thinking': (block) => speech.printBlock(block, 'thinking', block.text ?? ''),
    'react.notes': ({ text = '' }) => afterWords(plainText(text)),
    'assistant.completion': (block) =>
      speech.printBlock(block, 'answer', replaceBatch(block.text ?? '', sources, { keepUnresolved: false })),
    'react.tool.call': (block) => afterWords(toolCallLine(block, style)),
    'react.notice': inLines(noticeLines),
    'react.tool.result': result,
    'react.plan': inLines(planLines),
    'user.followup': (block) => line(messageLine(block, style)),
    'user.steer': (block) => line(messageLine(block, style)),
    'stage.suggested_followups': inLines(followupLines),
  }
  return (block) => shown[block.type]?.(block)
}

/** Where a turn is printed: knows whether it is at the beginning of a line, and whose words it is in the middle of. */
export interface LineWriter {
  /** On a line of its own. */
  line(text: string): void
  /** Words of a stream as they come. Those of another stream begin a new line. */
  append(stream: string, text: string): void
  /** What comes next is no part of these words. */
  endStream(): void
}

export function createLineWriter(write: (text: string) => void): LineWriter {
  let stream: string | undefined
  let fresh = true

  function print(text: string): void {
    if (text === '') return
    write(text)
    fresh = text.endsWith('\n')
  }
  function endWords(): void {
    if (stream !== undefined && !fresh) print('\n')
    stream = undefined
  }

  return {
    line: (text) => print(`${fresh ? '' : '\n'}${text}\n`),
    append(name, text) {
      if (stream !== name) endWords()
      stream = name
      print(text)
    },
    endStream: endWords,
  }
}
