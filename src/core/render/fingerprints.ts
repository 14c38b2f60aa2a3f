import { chainHash, type HashState, hashText, hashValue, shortHash, startHash, updateBothHashes, updateHash } from '../hash.ts'
import type { ShownFingerprints } from '../timeline/change.ts'
import { ownText, type RunBlock, runEnd, sameRun, separatorBefore } from './coalesce.ts'
import type { Part } from './types.ts'

/**
 * What was shown, by hash: of each block, and of all blocks up to one. Each block is looked at once, so that a prompt costs what is new.
 */
export interface Fingerprints {
  /** How many blocks are shown. */
  count(): number
  block(position: number): number
  /** Of the first `count` blocks together. */
  chain(count: number): number
  /** In short, for each block from `from` on. */
  blocks(from: number): readonly number[]
  /** Of everything that is sent up to and with the block at `position`, if its run ends there. */
  sent(position: number): number
  /** The blocks as they are shown, from `from` on. */
  texts(from: number): readonly string[]
}

/** Of a list that only ever grows. */
export function createFingerprints(lines: readonly RunBlock[]): Fingerprints {
  const own: number[] = []
  const chained = [0]
  const sent: number[] = []
  let run = startRun(0)

  function takeIn(): void {
    for (let known = own.length; known < lines.length; known++) {
      const line = lines[known] as RunBlock
      const before = lines[known - 1]
      if (before && !sameRun(before, line)) run = startRun(sent[known - 1] as number)
      const hash = addBlock(run, line)
      own.push(hash)
      chained.push(chainHash(chained[known] as number, hash))
      sent.push(hashThrough(run))
    }
  }
  return {
    count: () => lines.length,
    block(position) {
      takeIn()
      return own[position] as number
    },
    chain(count) {
      takeIn()
      return chained[count] as number
    },
    blocks(from) {
      takeIn()
      const short = own.slice(from)
      for (let index = 0; index < short.length; index++) short[index] = shortHash(short[index] as number)
      return short
    },
    sent(position) {
      takeIn()
      return sent[position] as number
    },
    texts: (from) => lines.slice(from).map(({ parts }) => shownText(parts)),
  }
}

/** What one run of blocks is sent as: one text and the bytes behind it, as `coalesced` puts them. */
interface Run {
  /** The hash of everything that is sent before it. */
  readonly before: number
  readonly text: HashState
  binaries: readonly Part[]
}

const noBinaries: readonly Part[] = []
const startRun = (before: number): Run => ({ before, text: startHash(), binaries: noBinaries })

/** Gives the block's own hash. What is hashed there is nearly always what the block adds to its run, so that both are read at once. */
function addBlock(run: Run, line: RunBlock): number {
  const said = ownText(line)
  const shown = shownText(line.parts)
  if (said !== '' && run.text.size > 0) updateHash(run.text, separatorBefore(line))
  if (said === shown) {
    const own = startHash()
    updateBothHashes(own, run.text, said)
    return hashValue(own)
  }
  updateHash(run.text, said)
  run.binaries = [...run.binaries, ...line.parts.filter(({ type }) => type !== 'text')]
  return hashText(shown)
}

function hashThrough({ before, text: { high, low, size }, binaries }: Run): number {
  let sent = before
  if (size > 0) {
    const text = { high, low, size }
    updateHash(text, runEnd)
    sent = chainHash(before, hashValue(text))
  }
  for (const part of binaries) sent = chainHash(sent, hashText(partText(part)))
  return sent
}

/** The same for parts as they are sent: of everything up to and with each, after what came before them. */
export function chainParts(before: number, parts: readonly Part[]): number[] {
  let chained = before
  return parts.map((part) => {
    chained = chainHash(chained, hashText(partText(part)))
    return chained
  })
}

/** A block as it is shown, in one text; bytes by their name. */
export function shownText(parts: readonly Part[]): string {
  const [only] = parts
  return parts.length === 1 && only ? partText(only) : parts.map(partText).join('\n')
}

const partText = (part: Part): string =>
  part.type === 'text' ? part.text : `<${part.type} ${part.media_type} ${part.base64 ?? part.blob.sha256}>`

export interface FingerprintRecorder {
  /** What is new against the prompt before, as it was written down; `texts` keeps the blocks themselves, too. */
  record(prints: Fingerprints, before: ShownFingerprints | undefined, options: { readonly texts: boolean }): ShownFingerprints
}

/** Remembers what it printed last: where the past was edited since, only what follows the edit is written down again. */
export function createFingerprintRecorder(): FingerprintRecorder {
  let last: { readonly prints: Fingerprints; readonly count: number; readonly chain: number } | undefined

  return {
    record(prints, before, { texts }) {
      const from = before ? commonPrefix(before, prints, last) : 0
      const count = prints.count()
      const chain = prints.chain(count)
      last = { prints, count, chain }
      const print = { from, hashes: prints.blocks(from), chain }
      return texts ? { ...print, texts: prints.texts(from) } : print
    },
  }
}

export const shownCount = ({ from, hashes }: ShownFingerprints): number => from + hashes.length

function commonPrefix(
  before: ShownFingerprints,
  prints: Fingerprints,
  last: { readonly prints: Fingerprints; readonly count: number; readonly chain: number } | undefined,
): number {
  const count = shownCount(before)
  if (count <= prints.count() && prints.chain(count) === before.chain) return count
  if (last?.chain !== before.chain) return 0 // another process made it: what it showed one by one is not known here
  let common = 0
  while (common < Math.min(last.count, prints.count()) && last.prints.block(common) === prints.block(common)) common++
  return common
}
