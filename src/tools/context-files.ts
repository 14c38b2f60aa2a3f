import type { Json } from '../core/json.ts'
import { toPayload } from '../core/timeline/payload.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import type { Workspace } from '../ports/workspace.ts'
import { stripFileHandles } from './artifacts/declared.ts'
import { declaresFiles } from './outcome.ts'
import type { Outcome } from './tool.ts'

/** One tool call: its parameters as the model wrote them, and its outcome. */
export interface CallRecord {
  readonly callId: string
  readonly toolId: string
  readonly description: string
  readonly params: Readonly<Record<string, unknown>>
  readonly outcome: Outcome
}

/** Collects the calls of a turn that are not yet written to the folder `tool_calls/`. `drain` returns them and empties the log. */
export interface CallLog {
  add(record: CallRecord): void
  drain(): readonly CallRecord[]
}

export function createCallLog(): CallLog {
  let records: CallRecord[] = []
  return {
    add: (record) => {
      records.push(record)
    },
    drain() {
      const drained = records
      records = []
      return drained
    },
  }
}

/**
 * Writes the files that the agent's programs may read but not change: `timeline.json` (format `conv.timeline.v1`), `sources_pool.json` with
 * all fields of the sources, and `tool_calls/<call>.json` for each call. It is called before a program runs and when a turn ends.
 */
export async function flushContext(
  { runtime }: Pick<Workspace, 'runtime'>,
  timeline: Timeline,
  calls: readonly CallRecord[],
): Promise<void> {
  // The journal has all data of these files, so they need not be durable.
  const writeText = (path: string, text: string) => runtime.write(path, Buffer.from(text), { durable: false })
  const write = (path: string, value: unknown, replacer?: Replacer) => writeText(path, JSON.stringify(value, replacer))
  await Promise.all([
    write('timeline.json', toPayload(timeline), dropHandles),
    write('sources_pool.json', { sources: timeline.sources.rows, next_sid: timeline.sources.next_sid }),
  ])
  for (const call of calls) await writeText(`tool_calls/${call.callId}.json`, callRecordText(call))
}

/**
 * Whether an earlier turn has written the context files. If so, every later turn updates them when it ends, even a turn that uses no file.
 */
export const hasContext = async ({ runtime }: Pick<Workspace, 'runtime'>): Promise<boolean> =>
  (await runtime.stat('timeline.json')) !== undefined

/**
 * The record of a call as JSON. If the return value can not be written as JSON, the record contains an error instead, so that the records
 * of the other calls can still be written.
 */
function callRecordText({ toolId, description, params, outcome }: CallRecord): string {
  const text = (ret: unknown) => JSON.stringify({ description, in: { tool_id: toolId, params }, ret }, encodeBytes)
  try {
    const { ok, error, output, report } = outcome
    const ret = declaresFiles(output) ? stripFileHandles(output as Json) : (output ?? report?.text ?? null)
    return text({ ok, error: error ?? null, ret })
  } catch {
    return text({ ok: false, error: { code: 'result_unfit', message: 'What the tool returned cannot be written as JSON.' }, ret: null })
  }
}

type Replacer = (this: unknown, key: string, value: unknown) => unknown

const handleFields: ReadonlySet<string> = new Set(['hosted_uri', 'rn', 'key', 'local_path', 'keeps'])

/**
 * Leaves out the fields that tell where files are hosted. Programs of the model read the context files, and the model must not learn these
 * fields.
 */
function dropHandles(this: unknown, key: string, value: unknown): unknown {
  return handleFields.has(key) ? undefined : value
}

/** Replaces bytes and bigints, which have no JSON form. */
function encodeBytes(this: unknown, _key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return { __type__: 'bytes', __data__: Buffer.from(value).toString('base64') }
  return typeof value === 'bigint' ? String(value) : value
}
