/**
 * A markdown text that grows at its end, divided into chunks. Only the last chunk can still change, so only the last chunk is parsed again
 * for each update. Every chunk begins where a new block begins, so that each chunk can be parsed by itself.
 */
export interface SettledMarkdown {
  readonly text: string
  /** The chunks that do not change any more. */
  readonly settled: readonly string[]
  /** The offset at which the last chunk begins. */
  readonly tailStart: number
  /** The start of the line that was read last, and the state of the reader before this line. */
  readonly scan: Scan
}

interface Scan {
  readonly lineStart: number
  /** The marker of the open code fence, such as three backticks. */
  readonly fence: string | undefined
  readonly afterBlank: boolean
}

/** A chunk ends at the first place after this number of characters at which a new block begins. */
const chunkLength = 4_000
/** If a chunk is this long, it ends at the next line, even inside a list or a paragraph. */
const longestChunk = 48_000

export const emptyMarkdown: SettledMarkdown = {
  text: '',
  settled: [],
  tailStart: 0,
  scan: { lineStart: 0, fence: undefined, afterBlank: true },
}

/**
 * Divides a text into chunks. `before` is the result for an earlier state of the text. If `text` begins with that earlier text, only its last
 * line and the lines after it are read.
 */
export function settleMarkdown(text: string, before: SettledMarkdown = emptyMarkdown): SettledMarkdown {
  if (text === before.text) return before
  const continues = text.length > before.text.length && text.startsWith(before.text)
  const known = continues ? before : emptyMarkdown
  let { lineStart, fence, afterBlank } = known.scan
  let { settled, tailStart } = known
  for (let end = text.indexOf('\n', lineStart); end >= 0; end = text.indexOf('\n', lineStart)) {
    const line = text.slice(lineStart, Math.min(end, lineStart + 200))
    const length = lineStart - tailStart
    const isGoodPlace = fence === undefined && length >= chunkLength && afterBlank && beginsBlock(line)
    if (isGoodPlace || (fence === undefined && length >= longestChunk)) {
      settled = [...settled, ownCopy(text.slice(tailStart, lineStart))]
      tailStart = lineStart
    }
    fence = fenceAfter(fence, line)
    afterBlank = fence === undefined && line.trim() === ''
    lineStart = end + 1
  }
  return { text, settled, tailStart, scan: { lineStart, fence, afterBlank } }
}

/**
 * Copies a part of a string. In JavaScript engines, a part of a string keeps the whole string in memory. In a text that grows, each part
 * would keep another version of the whole text.
 */
const ownCopy = (part: string) => ` ${part}`.slice(1)

/** All chunks of the text, including the last one, which can still change. */
export const chunksOf = ({ text, settled, tailStart }: SettledMarkdown): readonly string[] => [...settled, text.slice(tailStart)]

/** Whether a line after a blank line begins a block of its own. An indented line or an item may continue a list. */
const beginsBlock = (line: string) => line.trim() !== '' && !/^(?:\s|[-*+]\s|\d{1,9}[.)]\s)/.test(line)

function fenceAfter(fence: string | undefined, line: string): string | undefined {
  const marker = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
  if (marker === undefined) return fence
  if (fence === undefined) return marker[0] === '`' && line.slice(line.indexOf(marker) + marker.length).includes('`') ? undefined : marker
  return marker[0] === fence[0] && marker.length >= fence.length && line.trim() === marker ? undefined : fence
}

/** An open code fence at the end of a text: where its code begins, and its language. */
export interface OpenFence {
  readonly before: string
  readonly language: string
  readonly code: string
}

/**
 * Splits a chunk before an open code fence. While the code of a fence arrives, it is not parsed. This saves time, and the code does not
 * flicker.
 */
export function splitOpenFence(chunk: string): OpenFence | undefined {
  let fence: string | undefined
  let start = 0
  for (let at = 0; at < chunk.length; ) {
    const end = chunk.indexOf('\n', at)
    const line = chunk.slice(at, end < 0 ? chunk.length : end)
    const next = fenceAfter(fence, line)
    if (fence === undefined && next !== undefined) start = at
    fence = next
    if (end < 0) break
    at = end + 1
  }
  if (fence === undefined) return undefined
  const lineEnd = chunk.indexOf('\n', start)
  const opening = chunk.slice(start, lineEnd < 0 ? chunk.length : lineEnd)
  return {
    before: chunk.slice(0, start),
    language:
      opening
        .replace(/^\s*[`~]+/, '')
        .trim()
        .split(/\s/, 1)[0] ?? '',
    code: lineEnd < 0 ? '' : chunk.slice(lineEnd + 1),
  }
}
