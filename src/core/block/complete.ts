import { type Block, blockId } from './envelope.ts'

/** A block as a stranger may hand it in: only the type is certain. */
export type LooseBlock = Omit<Partial<Block>, 'id' | 'type' | 'ts'> & { readonly type: string; readonly ts?: string | number }

/** Fills what the entry lacks and numbers it. Every field that was there, known or not, stays. */
export function completeBlock(loose: LooseBlock, entry: { readonly number: number; readonly turnId: string; readonly now: string }): Block {
  return {
    ...loose,
    id: blockId(entry.number),
    author: loose.author ?? 'agent',
    turn_id: loose.turn_id ?? entry.turnId,
    ts: isoTime(loose.ts) ?? entry.now,
  }
}

/** ISO time with `Z`, from what readers must accept: ISO text, epoch seconds, epoch milliseconds (beyond 1e12). */
export function isoTime(value: string | number | undefined): string | undefined {
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string' && value.endsWith('Z') && !Number.isNaN(Date.parse(value))) return value
  const date = new Date(typeof value === 'number' ? (value > 1e12 ? value : value * 1000) : value)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}
