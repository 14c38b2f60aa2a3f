import type { Block } from '../core/block/index.ts'
import type { LaneEvent, TurnEvent } from '../core/event.ts'
import type { SourceRow } from '../core/sources/source.ts'
import { createKnownSources } from '../core/view/known-sources.ts'
import { readBlocks } from '../core/view/read-block.ts'
import { readChange } from '../core/view/read-change.ts'
import { createShownTexts, createTextNames, type TextLane, textLaneOf } from '../core/view/shown-texts.ts'
import type { VisibleEvent } from '../core/view/visible-event.ts'
import type { Markdown } from './markdown.ts'
import { plainText, type Style } from './terminal.ts'
import {
  attachmentLine,
  cutAnswerLine,
  dimLines,
  fileLine,
  followupLines,
  messageLine,
  modelErrorLine,
  noticeLine,
  planLines,
  promptLine,
  resultLine,
  sourceLines,
  statusLines,
  toolCallLine,
  waitLine,
} from './turn-lines.ts'

export type TurnPrinter = ReturnType<typeof createTurnPrinter>

type Write = (text: string) => void

/** The functions that print the parts of a turn. */
export interface Outputs {
  readonly answer: Write
  /** For thinking, tool calls, files, sources and suggested followups. */
  readonly progress: Write
  /** For failures of the model. */
  readonly failures: Write
  /** Makes a renderer for the Markdown of one answer. Without this function, answers are printed as the model wrote them. */
  readonly markdown?: (() => Markdown) | undefined
}

/**
 * Prints turns while they run. Thinking and answers are printed as the model writes them. A text that was not streamed is printed when its
 * entry arrives. Tool calls, plans, files, sources and suggested followups are printed as lines.
 */
export function createTurnPrinter(outputs: Outputs, style: Style) {
  const { line: lineOn, append, endStream } = createLineWriter()
  const line = (text: string) => lineOn(outputs.progress, text)
  const sources = createKnownSources()
  const shown = createShownTexts()
  const nameOf = createTextNames()
  const finishedCalls = new Set<string>()
  const outputFor = (lane: TextLane) => (lane === 'answer' ? outputs.answer : outputs.progress)
  const styled = (lane: TextLane, text: string) => (lane === 'thinking' ? dimLines(plainText(text), style) : plainText(text))
  const markdownOf = (lane: TextLane) => (lane === 'answer' ? outputs.markdown : undefined)
  const renderWhole = (lane: TextLane, text: string) => {
    const markdown = markdownOf(lane)?.()
    return markdown ? markdown.write(text) + markdown.end() : text
  }

  // If answers and progress go to one output, a text can be printed before it is known whether it is the answer or notes about a call.
  const printsUndecided = outputs.answer === outputs.progress
  const printedNotes = new Set<string>()

  function printDelta(event: LaneEvent): void {
    const { turn_id: turnId, iteration, delta } = event
    const lane = textLaneOf(event)
    if (lane === undefined) return
    if ((delta.undecided || delta.as) && !printsUndecided) return // the text is printed when its entry arrives
    if (delta.as === 'notes') printedNotes.add(`${turnId} ${iteration}`)
    if (delta.text !== '') shown.add({ turnId, iteration }, lane)
    append(outputFor(lane), nameOf(event, lane), styled(lane, delta.text), markdownOf(lane))
  }

  function printWholeText(lane: TextLane, round: { readonly turnId: string; readonly iteration: number }, text: string): void {
    endStream()
    if (!shown.has(round, lane) && text.trim() !== '') lineOn(outputFor(lane), renderWhole(lane, styled(lane, text)))
  }

  function lineAfterStream(text: string): void {
    endStream()
    line(text)
  }

  function printVisible(event: VisibleEvent): void {
    switch (event.kind) {
      case 'thinking':
        printWholeText('thinking', event, event.text)
        break
      case 'answer':
        if (event.state === 'attempt') break
        printWholeText('answer', event, sources.linkCitations(event.text))
        if (event.stopped || event.truncated) line(cutAnswerLine(event, style))
        break
      case 'notes':
        if (printedNotes.has(`${event.turnId} ${event.iteration}`)) endStream()
        else lineAfterStream(plainText(sources.linkCitations(event.text)))
        break
      case 'tool.call':
        lineAfterStream(toolCallLine(event, style))
        break
      case 'tool.result': {
        const { callId = '' } = event
        if (!finishedCalls.has(callId)) line(resultLine(event, style)) // a call may have several results, but only the first one is printed
        finishedCalls.add(callId)
        break
      }
      case 'file':
        line(fileLine(event.file, style))
        break
      case 'notice':
        line(noticeLine(event, style))
        break
      case 'plan':
        planLines(event.plan, style).forEach(line)
        break
      case 'message':
        if (event.from !== 'external') line(messageLine(event, style))
        break
      case 'followups':
        followupLines(sources.linkPhrases(event.items), style).forEach(line)
        break
      case 'turn.waiting':
        endStream()
        for (const wait of event.waits) line(waitLine(wait, style))
        break
      case 'turn.ended':
        endStream()
        break
      case 'response':
        if (event.error && event.error.kind !== 'aborted') {
          endStream()
          lineOn(outputs.failures, modelErrorLine(event.error, style))
        }
        break
      case 'sources.found':
        sources.add(event.rows)
        break
      case 'sources.cited':
        for (const sid of event.sids) sourceLines(sources.get(sid), style).forEach(line)
        break
      default:
        break // the other kinds are not printed, for example the message that the user has just typed
    }
  }

  return {
    print(event: TurnEvent): void {
      if (event.type === 'lane.delta') printDelta(event)
      else if (event.type === 'status') statusLines(event, style).forEach(line)
      else readChange(event.change).forEach(printVisible)
    },
    /** Prints earlier turns. Unlike `print`, it also prints the messages and attachments of the user. */
    printHistory(blocks: readonly Block[], rows: readonly SourceRow[]): void {
      sources.add(rows)
      for (const event of readBlocks(blocks)) {
        if (event.kind === 'prompt') line(promptLine(event, style))
        else if (event.kind === 'attachment' && event.part === 'description') line(attachmentLine(event.file, style))
        else printVisible(event)
      }
    },
    endLine: endStream,
  }
}

/**
 * Writes lines, and texts that arrive in pieces, to several outputs. If the last line of one output is unfinished, it is ended before
 * another output is written. So lines do not mix if all outputs are shown on one screen. If an output is redirected to a file, the file
 * contains complete lines.
 */
interface LineWriter {
  /** Writes text on a line of its own. */
  line(write: Write, text: string): void
  /**
   * Appends a piece to the text with the name `stream`. If the previous piece belonged to another text, this piece begins on a new line,
   * and `markdown` makes the renderer for this text.
   */
  append(write: Write, stream: string, text: string, markdown?: () => Markdown): void
  /** Ends the current text and its line. */
  endStream(): void
}

function createLineWriter(): LineWriter {
  let stream: string | undefined
  let unfinished: Write | undefined
  /** Renders the current text. It may hold back characters that may begin Markdown, such as `*`. */
  let rendering: { readonly markdown: Markdown; readonly write: Write } | undefined

  function print(write: Write, text: string): void {
    if (text === '') return
    write(text)
    unfinished = text.endsWith('\n') ? undefined : write
  }
  function endLine(): void {
    if (rendering) print(rendering.write, rendering.markdown.end())
    if (unfinished) print(unfinished, '\n')
  }
  function endStream(): void {
    if (stream !== undefined) endLine()
    stream = undefined
    rendering = undefined
  }

  return {
    line(write, text) {
      endLine()
      print(write, `${text}\n`)
    },
    append(write, name, text, markdown) {
      if (stream !== name) {
        endStream()
        rendering = markdown && { markdown: markdown(), write }
      }
      stream = name
      print(write, rendering ? rendering.markdown.write(text) : text)
    },
    endStream,
  }
}
