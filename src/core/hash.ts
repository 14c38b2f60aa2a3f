/**
 * A number by which a text is known again: 53 bits, the same on every machine, quick enough to be taken of everything that is sent.
 * It guards against mistakes and not against malice: whoever wants two texts with one number can make them.
 */
export function hashText(text: string): number {
  const reading = beginReading()
  readOn(reading, text)
  return hashOf(reading)
}

/** A text as far as it was read. */
export interface Reading {
  high: number
  low: number
  size: number
}

export const beginReading = (): Reading => ({ high: 0x9e3779b9 | 0, low: 0x85ebca6b | 0, size: 0 })

export function readOn(reading: Reading, text: string): void {
  let { high, low } = reading
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    high = highAfter(high, unit)
    low = lowAfter(low, unit)
  }
  reading.high = high
  reading.low = low
  reading.size += text.length
}

/** The same text in two readings, in the time of one: what a step waits for is the step before it, and there are two that wait. */
export function readOnBoth(first: Reading, second: Reading, text: string): void {
  let { high, low } = first
  let { high: secondHigh, low: secondLow } = second
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    high = highAfter(high, unit)
    low = lowAfter(low, unit)
    secondHigh = highAfter(secondHigh, unit)
    secondLow = lowAfter(secondLow, unit)
  }
  first.high = high
  first.low = low
  first.size += text.length
  second.high = secondHigh
  second.low = secondLow
  second.size += text.length
}

const highAfter = (high: number, unit: number) => Math.imul(high ^ unit, 0xcc9e2d51)
const lowAfter = (low: number, unit: number) => Math.imul(((low << 13) | (low >>> 19)) ^ unit, 0x1b873593)

/** The number of what was read, as if nothing followed. */
export function hashOf(reading: Reading): number {
  const high = stirred(reading.high ^ reading.size)
  const low = stirred(reading.low ^ high)
  return (stirred(high ^ low) & 0x1f_ffff) * 0x1_0000_0000 + (low >>> 0)
}

/** What comes after something that has a number already. */
export function hashAfter(before: number, next: number): number {
  const high = stirred((before ^ 0x51ed270b) + Math.imul(Math.floor(next / 0x1_0000_0000), 0x2545f491))
  const low = stirred(Math.floor(before / 0x1_0000_0000) ^ Math.imul(next | 0, 0x9e3779b1) ^ high)
  return (stirred(high ^ low) & 0x1f_ffff) * 0x1_0000_0000 + (low >>> 0)
}

/** 32 bits of it, for the many that stand in a row. */
export const shortHash = (hash: number): number => hash >>> 0

/** Every bit of the input moves every bit of the output. */
function stirred(value: number): number {
  let bits = value | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}
