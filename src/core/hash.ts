/**
 * A 53-bit hash of a text. It is the same on every machine, and it is fast enough to hash every prompt. It is not cryptographic: it detects
 * accidental differences, but someone could construct two texts with the same hash.
 */
export function hashText(text: string): number {
  const state = startHash()
  updateHash(state, text)
  return hashValue(state)
}

/** The state of a hash while texts are added to it. */
export interface HashState {
  high: number
  low: number
  /** The number of characters that were added so far. */
  size: number
}

export const startHash = (): HashState => ({ high: 0x9e3779b9 | 0, low: 0x85ebca6b | 0, size: 0 })

/** Adds a text to the state. The state is changed in place. */
export function updateHash(state: HashState, text: string): void {
  let { high, low } = state
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    high = nextHigh(high, unit)
    low = nextLow(low, unit)
  }
  state.high = high
  state.low = low
  state.size += text.length
}

/**
 * Adds the same text to two hash states. The result is the same as with two calls of `updateHash`. One loop for both hashes is faster: each
 * step of a hash has to wait for the previous step of this hash, and meanwhile the processor can run a step of the other hash. This saves 3
 * to 4 µs per 2,000 characters.
 */
export function updateBothHashes(first: HashState, second: HashState, text: string): void {
  let { high, low } = first
  let { high: secondHigh, low: secondLow } = second
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    high = nextHigh(high, unit)
    low = nextLow(low, unit)
    secondHigh = nextHigh(secondHigh, unit)
    secondLow = nextLow(secondLow, unit)
  }
  first.high = high
  first.low = low
  first.size += text.length
  second.high = secondHigh
  second.low = secondLow
  second.size += text.length
}

const nextHigh = (high: number, unit: number) => Math.imul(high ^ unit, 0xcc9e2d51)
const nextLow = (low: number, unit: number) => Math.imul(((low << 13) | (low >>> 19)) ^ unit, 0x1b873593)

/** The hash of all text that was added so far. More text can be added afterwards. */
export function hashValue(state: HashState): number {
  const high = mixBits(state.high ^ state.size)
  const low = mixBits(state.low ^ high)
  return (mixBits(high ^ low) & 0x1f_ffff) * 0x1_0000_0000 + (low >>> 0)
}

/** Combines the hash of a sequence with the hash of its next element. */
export function chainHash(before: number, next: number): number {
  const high = mixBits((before ^ 0x51ed270b) + Math.imul(Math.floor(next / 0x1_0000_0000), 0x2545f491))
  const low = mixBits(Math.floor(before / 0x1_0000_0000) ^ Math.imul(next | 0, 0x9e3779b1) ^ high)
  return (mixBits(high ^ low) & 0x1f_ffff) * 0x1_0000_0000 + (low >>> 0)
}

/** The low 32 bits of a hash. They need less space in the long lists of hashes that are stored. */
export const shortHash = (hash: number): number => hash >>> 0

/** The final step of MurmurHash3. Every bit of the input affects every bit of the output. */
function mixBits(value: number): number {
  let bits = value | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}
