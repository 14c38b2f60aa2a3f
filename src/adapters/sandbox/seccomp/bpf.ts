// Instructions of the classic Berkeley Packet Filter, which the kernel runs for each system call of a program.

/** One instruction. `jumpTrue` and `jumpFalse` are how many instructions to skip. */
export interface Instruction {
  readonly code: number
  readonly jumpTrue: number
  readonly jumpFalse: number
  readonly value: number
}

/** The codes of the instructions that the filter uses. */
export const codes = {
  load: 0x20,
  and: 0x54,
  jumpIfEqual: 0x15,
  jumpIfGreater: 0x25,
  jumpIfGreaterOrEqual: 0x35,
  jumpIfAnyBit: 0x45,
  end: 0x06,
} as const

/** Offsets in the data about a call that the kernel passes to the filter. Both processors put the low half of an argument first. */
export const dataOffset = { number: 0, architecture: 4, argument: (index: number) => 16 + 8 * index } as const

/** What a filter decides. */
export const verdicts = { allow: 0x7fff0000, kill: 0x80000000, error: (errno: number) => 0x00050000 | errno } as const

const plain = (code: number, value: number): Instruction => ({ code, jumpTrue: 0, jumpFalse: 0, value })

export const load = (offset: number): Instruction => plain(codes.load, offset)
export const and = (value: number): Instruction => plain(codes.and, value)
export const end = (verdict: number): Instruction => plain(codes.end, verdict)

/** Runs `body` if the comparison holds. Otherwise continues after it. */
export function when(code: number, value: number, body: readonly Instruction[]): readonly Instruction[] {
  if (body.length > 255) throw new RangeError('a jump of the filter is too long')
  return [{ code, jumpTrue: 0, jumpFalse: body.length, value }, ...body]
}

/** Runs `body` if the comparison does not hold. */
export function unless(code: number, value: number, body: readonly Instruction[]): readonly Instruction[] {
  if (body.length > 255) throw new RangeError('a jump of the filter is too long')
  return [{ code, jumpTrue: body.length, jumpFalse: 0, value }, ...body]
}

/** The bytes that the kernel reads: eight for each instruction. */
export function encode(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(8 * instructions.length)
  instructions.forEach(({ code, jumpTrue, jumpFalse, value }, index) => {
    bytes.writeUInt16LE(code, 8 * index)
    bytes.writeUInt8(jumpTrue, 8 * index + 2)
    bytes.writeUInt8(jumpFalse, 8 * index + 3)
    bytes.writeUInt32LE(value >>> 0, 8 * index + 4)
  })
  return bytes
}
