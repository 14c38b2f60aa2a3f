/**
 * A number by which a text is known again: 53 bits, the same on every machine, quick enough to be taken of everything that is sent.
 * It guards against mistakes and not against malice: whoever wants two texts with one number can make them.
 */
export function hashText(text: string): number {
  const reading = startHash()
  updateHash(reading, text)
  return hashValue(reading)
}

/** A text as far as it was read. */
export interface HashState {
  high: number
  low: number
  size: number
}

export const startHash = (): HashState => ({ high: 0x9e3779b9 | 0, low: 0x85ebca6b | 0, size: 0 })

export function updateHash(reading: HashState, text: string): void {
  let { high, low } = reading
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    high = nextHigh(high, unit)
    low = nextLow(low, unit)
  }
  reading.high = high
  reading.low = low
  reading.size += text.length
}

/** The same text in two readings, in the time of one: what a step waits for is the step before it, and there are two that wait. */
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

/** The number of what was read, as if nothing followed. */
export function hashValue(reading: HashState): number {
  const high = mixBits(reading.high ^ reading.size)
  const low = mixBits(reading.low ^ high)
  return (mixBits(high ^ low) & 0x1f_ffff) * 0x1_0000_0000 + (low >>> 0)
}

/** What comes after something that has a number already. */
export function chainHash(before: number, next: number): number {
  const high = mixBits((before ^ 0x51ed270b) + Math.imul(Math.floor(next / 0x1_0000_0000), 0x2545f491))
  const low = mixBits(Math.floor(before / 0x1_0000_0000) ^ Math.imul(next | 0, 0x9e3779b1) ^ high)
  return (mixBits(high ^ low) & 0x1f_ffff) * 0x1_0000_0000 + (low >>> 0)
}

/** 32 bits of it, for the many that stand in a row. */
export const shortHash = (hash: number): number => hash >>> 0

/** Every bit of the input moves every bit of the output. */
function mixBits(value: number): number {
  let bits = value | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}
