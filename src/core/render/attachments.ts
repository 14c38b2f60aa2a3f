import type { Block } from '../block/envelope.ts'
import { roundKey } from '../timeline/rounds.ts'
import { bytesOf, refusal } from './binary.ts'
import type { Caps } from './caps.ts'
import type { NotAttached } from './context.ts'

/** Which images and documents go along. First come, first served: a later one never pushes an earlier one out of the prompt. */
export interface Attachments {
  /** The number these bytes would get in their round or input, or why they would get none; undefined when there are no bytes. */
  admit(block: Block, toolId: string | undefined): number | NotAttached | undefined
  /** They were shown, with this number. */
  count(block: Block, number: number): void
}

export function createAttachments(limits: Caps): Attachments {
  const shown = new Map<string, number>()
  let total = 0

  return {
    admit(block, toolId) {
      const bytes = bytesOf(block)
      if (!bytes) return undefined
      const refused = refusal(block, toolId, limits)
      if (refused) return refused
      const round = roundKey(block)
      const number = (shown.get(place(block)) ?? 0) + 1
      if (number > (round === undefined ? limits.binariesPerInput : limits.binariesPerRound)) return 'number'
      return total + bytes.size > limits.messageBytes ? 'message size' : number
    },
    count(block, number) {
      shown.set(place(block), number)
      total += bytesOf(block)?.size ?? 0
    },
  }
}

const place = (block: Block) => roundKey(block) ?? `input of ${block.turn_id}`
