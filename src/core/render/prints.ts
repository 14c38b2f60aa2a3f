import { hashAfter, hashText, shortHash } from '../hash.ts'
import type { Part } from './part.ts'
import type { Shown } from './slice.ts'

/**
 * What was shown, by hash: of each block, and of all blocks up to one. Each block is looked at once, so that a prompt costs what is new.
 */
export interface Prints {
  /** How many blocks are shown. */
  count(): number
  block(position: number): number
  /** Of the first `count` blocks together. */
  chain(count: number): number
  /** In short, for each block from `from` on. */
  blocks(from: number): readonly number[]
  /** The blocks as they are shown, from `from` on. */
  texts(from: number): readonly string[]
}

/** Of a list that only ever grows. */
export function createPrints(lines: readonly Pick<Shown, 'parts'>[]): Prints {
  const own: number[] = []
  const chained = [0]

  function takeIn(): void {
    for (let known = own.length; known < lines.length; known++) {
      const hash = hashText(shownText((lines[known] as Pick<Shown, 'parts'>).parts))
      own.push(hash)
      chained.push(hashAfter(chained[known] as number, hash))
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
      return own.slice(from).map(shortHash)
    },
    texts: (from) => lines.slice(from).map(({ parts }) => shownText(parts)),
  }
}

/** The same for parts as they are sent: of everything up to and with each, after what came before them. */
export function chainParts(before: number, parts: readonly Part[]): number[] {
  let chained = before
  return parts.map((part) => {
    chained = hashAfter(chained, hashText(partText(part)))
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
