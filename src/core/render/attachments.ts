import type { Block } from '../block/block.ts'
import { roundKey } from '../timeline/rounds.ts'
import { blobOf, refusalReason } from './blocks/attachment.ts'
import type { Caps } from './caps.ts'
import type { RefusalReason } from './context.ts'

/** Which images and documents go along. First come, first served: a later one never pushes an earlier one out of the prompt. */
export interface AttachmentLimiter {
  /** The number these bytes would get in their round or input, or why they would get none; undefined when there are no bytes. */
  admit(block: Block, toolId: string | undefined): number | RefusalReason | undefined
  /** They were shown, with this number. */
  record(block: Block, number: number): void
}

export function createAttachmentLimiter(limits: Caps): AttachmentLimiter {
  const shown = new Map<string, number>()
  let total = 0

  return {
    admit(block, toolId) {
      const bytes = blobOf(block)
      if (!bytes) return undefined
      const refused = refusalReason(block, toolId, limits)
      if (refused) return refused
      const round = roundKey(block)
      const number = (shown.get(groupOf(block)) ?? 0) + 1
      if (number > (round === undefined ? limits.binariesPerInput : limits.binariesPerRound)) return 'number'
      return total + bytes.size > limits.messageBytes ? 'message size' : number
    },
    record(block, number) {
      shown.set(groupOf(block), number)
      total += blobOf(block)?.size ?? 0
    },
  }
}

const groupOf = (block: Block) => roundKey(block) ?? `input of ${block.turn_id}`
