import { chainHash, type HashState, hashText, hashValue, shortHash, startHash, updateBothHashes, updateHash } from '../hash.ts'
import type { ShownFingerprints } from '../timeline/response-record.ts'
import { textPart } from './text.ts'
import type { Part } from './types.ts'
import type { RenderedBlock } from './walk.ts'

/** A block of a run. Consecutive blocks of one round form a run. A block that belongs to no round is a run of its own. */
export type RunBlock = Pick<RenderedBlock, 'parts' | 'round' | 'joined'>

export const sameRun = (a: RunBlock, b: RunBlock): boolean => a.round !== undefined && a.round === b.round

/**
 * Joins the blocks `from` to `end` (exclusive) of one run into one text part, followed by their images and documents. A round becomes one
 * text part even if it has many results, because a provider looks for a cached beginning only a limited number of parts before a mark. The
 * text ends with a blank line, so that the next part begins a new paragraph.
 */
export function coalesce(blocks: readonly RunBlock[], from = 0, end = blocks.length): readonly Part[] {
  let text = ''
  const binaries: Part[] = []
  for (let position = from; position < end; position++) {
    const block = blocks[position] as RunBlock
    const own = ownText(block)
    if (own !== '') text += text === '' ? own : separatorBefore(block) + own
    for (const part of block.parts) if (part.type !== 'text') binaries.push(part)
  }
  return text === '' ? binaries : [textPart(text + runEnd), ...binaries]
}

/** The text that `coalesce` makes of a run, and where the text of each block begins in it. A block without text is not in `starts`. */
export function runText(blocks: readonly RunBlock[], from: number, end: number) {
  let text = ''
  const starts: { readonly position: number; readonly start: number }[] = []
  for (let position = from; position < end; position++) {
    const block = blocks[position] as RunBlock
    const own = ownText(block)
    if (own === '') continue
    if (text !== '') text += separatorBefore(block)
    starts.push({ position, start: text.length })
    text += own
  }
  return { text: text === '' ? '' : text + runEnd, starts }
}

const runEnd = '\n\n'
const separatorBefore = ({ joined }: RunBlock): string => (joined ? '\n' : '\n\n')

/** The text that a block adds to its run. Newlines at its end are removed, because `coalesce` puts a separator between the blocks. */
function ownText({ parts }: RunBlock): string {
  let text: string | undefined
  for (const part of parts) if (part.type === 'text') text = text === undefined ? part.text : `${text}\n${part.text}`
  return trimTrailingNewlines(text ?? '')
}

function trimTrailingNewlines(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '\n') end--
  return end === text.length ? text : text.slice(0, end)
}

/** Hashes of the shown blocks. A position is an index into the list of these blocks. Each block is hashed only once. */
export interface Fingerprints {
  /** The number of shown blocks. */
  count(): number
  /** The hash of the block at `position` alone. */
  block(position: number): number
  /** One hash of the first `count` blocks together. */
  chain(count: number): number
  /** A short hash of each block from position `from` on, for the journal. */
  blocks(from: number): readonly number[]
  /** One hash of all parts that are sent up to and including the block at `position`. This block must be the last one of its run. */
  sent(position: number): number
  /** The text of each block from position `from` on. */
  texts(from: number): readonly string[]
}

/**
 * Creates the fingerprints of a list of blocks. A hash is computed when it is first needed. Blocks may be appended to the list later, but
 * the blocks in the list must not change.
 */
export function createFingerprints(blocks: readonly RunBlock[]): Fingerprints {
  const own: number[] = []
  const chained = [0]
  const sent: number[] = [] // 0 for a block that is not the last one of its run, and for the last block, whose run may grow
  let run = startRun(0)

  function hashNewBlocks(): void {
    for (let position = own.length; position < blocks.length; position++) {
      const block = blocks[position] as RunBlock
      const before = position === 0 ? undefined : blocks[position - 1]
      if (before && !sameRun(before, block)) {
        const hashBefore = hashThrough(run)
        sent[position - 1] = hashBefore
        run = startRun(hashBefore)
      }
      const hash = addToRun(run, block)
      own.push(hash)
      chained.push(chainHash(chained[position] as number, hash))
      sent.push(0)
    }
  }
  return {
    count: () => blocks.length,
    block(position) {
      hashNewBlocks()
      return own[position] as number
    },
    chain(count) {
      hashNewBlocks()
      return chained[count] as number
    },
    blocks(from) {
      hashNewBlocks()
      return own.slice(from).map(shortHash)
    },
    sent(position) {
      hashNewBlocks()
      return position === blocks.length - 1 ? hashThrough(run) : (sent[position] as number)
    },
    texts: (from) => blocks.slice(from).map(({ parts }) => shownText(parts)),
  }
}

/** The state of the hash of one run. `text` hashes the text part that `coalesce` makes of the run. */
interface Run {
  /** The hash of all parts that are sent before the run. */
  readonly before: number
  text: HashState
  readonly binaries: Part[]
}

const startRun = (before: number): Run => ({ before, text: startHash(), binaries: [] })

/**
 * Adds a block to the hash of its run and returns the hash of the block alone. Usually the same text is added to both hashes. In this case
 * the text is read only once.
 */
function addToRun(run: Run, block: RunBlock): number {
  const added = ownText(block)
  const shown = shownText(block.parts)
  if (added !== '' && run.text.size > 0) updateHash(run.text, separatorBefore(block))
  if (added === shown) {
    const own = startHash()
    if (run.text.size === 0) {
      updateHash(own, added)
      run.text = own // the run has no other text yet, so both hashes are equal
    } else updateBothHashes(own, run.text, added)
    return hashValue(own)
  }
  updateHash(run.text, added)
  run.binaries.push(...block.parts.filter(({ type }) => type !== 'text'))
  return hashText(shown)
}

function hashThrough({ before, text, binaries }: Run): number {
  let hash = before
  if (text.size > 0) {
    const ended = { ...text }
    updateHash(ended, runEnd)
    hash = chainHash(before, hashValue(ended))
  }
  for (const part of binaries) hash = chainHash(hash, hashText(partText(part)))
  return hash
}

/** For each part, one hash of all parts up to and including this part. `before` is the hash of the parts that come before the list. */
export function chainParts(before: number, parts: readonly Part[]): number[] {
  let chained = before
  return parts.map((part) => {
    chained = chainHash(chained, hashText(partText(part)))
    return chained
  })
}

const shownText = (parts: readonly Part[]): string => (parts.length === 1 ? partText(parts[0] as Part) : parts.map(partText).join('\n'))

const partText = (part: Part): string =>
  part.type === 'text' ? part.text : `<${part.type} ${part.media_type} ${part.base64 ?? part.blob.sha256}>`

/**
 * Makes the record of a prompt for the journal. The record contains the hashes of the first block that differs from the previous prompt,
 * and of all blocks after it.
 */
export interface FingerprintRecorder {
  /**
   * `before` is the record of the previous prompt. If `texts` is true, the new record also has the text of each block for which it has a
   * hash.
   */
  record(current: Fingerprints, before: ShownFingerprints | undefined, options: { readonly texts: boolean }): ShownFingerprints
}

/** Creates a recorder. It remembers the hashes of the last prompt, so that it finds the first block that differs. */
export function createFingerprintRecorder(): FingerprintRecorder {
  let last: RecordedPrompt | undefined

  return {
    record(current, before, { texts }) {
      const from = before ? commonBlocks(before, current, last) : 0
      const count = current.count()
      const chain = current.chain(count)
      last = { fingerprints: current, count, chain }
      const record = { from, hashes: current.blocks(from), chain }
      return texts ? { ...record, texts: current.texts(from) } : record
    },
  }
}

interface RecordedPrompt {
  readonly fingerprints: Fingerprints
  readonly count: number
  readonly chain: number
}

/** The number of blocks in a recorded prompt. */
export const shownCount = ({ from, hashes }: ShownFingerprints): number => from + hashes.length

function commonBlocks(before: ShownFingerprints, current: Fingerprints, last: RecordedPrompt | undefined): number {
  const count = shownCount(before)
  if (count <= current.count() && current.chain(count) === before.chain) return count
  // Another recorder made `before`, for example because the process was restarted. Therefore the full hashes of its blocks are not known.
  if (last?.chain !== before.chain) return 0
  let common = 0
  while (common < Math.min(last.count, current.count()) && last.fingerprints.block(common) === current.block(common)) common++
  return common
}
