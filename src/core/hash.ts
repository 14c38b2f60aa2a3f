/**
 * A number by which a text is known again: 53 bits, the same on every machine, quick enough to be taken of everything that is sent.
 * It guards against mistakes and not against malice: whoever wants two texts with one number can make them.
 */
export function hashText(text: string, seed = 0): number {
  let high = 0x9e3779b9 ^ seed
  let low = 0x85ebca6b ^ Math.floor(seed / 0x1_0000_0000)
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    high = Math.imul(high ^ unit, 0xcc9e2d51)
    low = Math.imul(((low << 13) | (low >>> 19)) ^ unit, 0x1b873593)
  }
  high = stirred(high ^ text.length)
  low = stirred(low ^ high)
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
