import { createHash } from 'node:crypto'
import { z } from 'zod'
import { parseJson } from '../../core/json.ts'
import type { Files } from '../../ports/files.ts'
import { scopeOf } from './names.ts'

/** What a turn has checked out so far. Kept beside OUT_DIR, so that a process that takes up the turn knows it, too. */
const CheckoutRecord = z.object({
  mode: z.enum(['replace', 'overlay']),
  from: z.array(z.object({ turnId: z.string(), rel: z.string() })),
  /** Scopes that the turn answers for, even when nothing is left of them. `true`: all of them. */
  scopes: z.union([z.literal(true), z.array(z.string())]),
  /** Hashes of what a checkout put, or was about to put, at each path: anything else there is the turn's own work. */
  laid: z.array(z.tuple([z.string(), z.array(z.string())])).transform((entries): CheckoutHashes => new Map(entries)),
})
export type CheckoutRecord = z.infer<typeof CheckoutRecord>

export type CheckoutHashes = ReadonlyMap<string, readonly string[]>

const recordPath = (turnId: string) => `workspace/${turnId}.json`

export async function readCheckoutRecord(runtime: Files, turnId: string): Promise<CheckoutRecord | undefined> {
  const bytes = await runtime.read(recordPath(turnId))
  if (!bytes) return undefined
  const read = CheckoutRecord.safeParse(parseJson(new TextDecoder().decode(bytes)))
  return read.success ? read.data : undefined // programs of the agent's may reach it: what is no record of ours says nothing
}

export async function writeCheckoutRecord(runtime: Files, turnId: string, record: CheckoutRecord): Promise<void> {
  await runtime.write(recordPath(turnId), Buffer.from(JSON.stringify({ ...record, laid: [...record.laid] })))
}

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** True for a scope that the turn answers for besides those that it has files in. */
export function isCheckedOutScope(record: CheckoutRecord | undefined, rel: string): boolean {
  return record !== undefined && (record.scopes === true || record.scopes.includes(scopeOf(rel)))
}
