import { type Block, blockId } from './block.ts'

/** A block as a stranger may hand it in: only the type is certain. */
export type IncompleteBlock = Omit<Partial<Block>, 'id' | 'type' | 'ts'> & { readonly type: string; readonly ts?: string | number }

/** Fills what the entry lacks and numbers it. Every field that was there, known or not, stays. */
export function completeBlock(
  given: IncompleteBlock,
  entry: { readonly number: number; readonly turnId: string; readonly now: string },
): Block {
  const loose = moveHiddenIntoMeta(given)
  return {
    ...loose,
    id: blockId(entry.number),
    author: loose.author ?? 'agent',
    turn_id: loose.turn_id ?? entry.turnId,
    ts: isoTime(loose.ts) ?? entry.now,
  }
}

/** Older writers say at the top of a block that it is hidden; we say it in its meta, and there only. */
function moveHiddenIntoMeta(loose: IncompleteBlock & { readonly hidden?: unknown; readonly replacement_text?: unknown }): IncompleteBlock {
  if (loose.hidden !== true) return loose
  const { hidden, replacement_text: text, ...rest } = loose
  return { ...rest, meta: { ...rest.meta, hidden, ...(typeof text === 'string' && { replacement_text: text }) } }
}

const isoShape = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?$/

/** ISO time with `Z`, from what readers must accept: ISO text, epoch seconds, epoch milliseconds (beyond 1e12). Without a zone it is UTC. */
export function isoTime(value: string | number | undefined): string | undefined {
  if (typeof value === 'string') return isoTimeFromText(value)
  if (typeof value !== 'number') return undefined
  const date = new Date(value > 1e12 ? value : value * 1000)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

function isoTimeFromText(value: string): string | undefined {
  const [, day, time, zone = 'Z'] = isoShape.exec(value) ?? []
  const text = `${day}T${time}${zone}`
  if (day === undefined || Number.isNaN(Date.parse(text))) return undefined
  return zone === 'Z' ? text : new Date(text).toISOString()
}
