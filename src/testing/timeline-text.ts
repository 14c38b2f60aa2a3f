import { type Block, isHidden, isResultMetadata, readNotice, readToolCall } from '../core/block/index.ts'
import { ellipsize } from '../core/cut.ts'
import { blocksOf, type Timeline } from '../core/timeline/timeline.ts'

/** A timeline as text, for tests. Each line shows the round, the type and the first characters of one block. */
export function timelineText(timeline: Timeline): string {
  return blocksOf(timeline).map(lineOf).join('\n')
}

function lineOf(block: Block): string {
  const round = typeof block.meta?.iteration === 'number' ? `#${block.meta.iteration}` : '  '
  const hidden = isHidden(block) ? ' (hidden)' : ''
  return `${round.padEnd(4)}${block.type.padEnd(30)}${hidden} ${describeContent(block)}`.trimEnd()
}

function describeContent(block: Block): string {
  const call = readToolCall(block)
  if (call) return `${call.tool_id} ${shorten(JSON.stringify(call.params))}`
  const notice = readNotice(block)
  if (notice) return `${notice.code}: ${shorten(notice.message)}`
  return shorten(block.text ?? (block.blob ? `<${block.mime ?? 'bytes'}>` : ''))
}

const shorten = (text: string) => {
  const line = text.replace(/\s+/g, ' ').trim()
  return ellipsize(line, 100)
}

/** The assertion that `expectTimeline` calls. Vitest and Jest have it. */
export interface TimelineExpectation {
  toEqual(expected: unknown): void
}

/**
 * Asserts that a timeline has these blocks in this order. Blocks that only describe a tool result, with its type and tool, are skipped.
 * Each line is the type of a block, or its type and the start of its content.
 *
 *   expectTimeline(expect, timeline, ['turn.header', 'user.prompt: hello', 'assistant.completion: hi'])
 */
export function expectTimeline(expect: (actual: unknown) => TimelineExpectation, timeline: Timeline, lines: readonly string[]): void {
  const blocks = blocksOf(timeline).filter((block) => !isResultMetadata(block))
  const actual = blocks.map((block, index) => {
    const [type, ...start] = (lines[index] ?? '').split(': ')
    const text = describeContent(block)
    return block.type === type && text.startsWith(start.join(': ')) ? (lines[index] as string) : `${block.type}: ${text}`
  })
  expect(actual).toEqual(lines)
}
