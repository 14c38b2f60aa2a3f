import type { Json } from '../core/json.ts'
import { toPayload } from '../core/timeline/payload.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import type { Workspace } from '../ports/workspace.ts'
import { stripFileHandles } from './artifacts/declared.ts'
import { declaresFiles } from './outcome.ts'
import type { Outcome } from './tool.ts'

/** One call, with its parameters as the model wrote them and the outcome of the tool. */
export interface CallRecord {
  readonly callId: string
  readonly toolId: string
  readonly description: string
  readonly params: Readonly<Record<string, unknown>>
  readonly outcome: Outcome
}

/** The calls of a turn that are not yet written to `tool_calls/`. */
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
 * Writes the files that programs of the agent may read but not change. These are `timeline.json` (conv.timeline.v1), `sources_pool.json`
 * with complete rows, and one `tool_calls/<call>.json` for each call. Called before a program runs and when a turn ends.
 */
export async function flushContext(
  { runtime }: Pick<Workspace, 'runtime'>,
  timeline: Timeline,
  calls: readonly CallRecord[],
): Promise<void> {
  const write = (path: string, value: unknown, replacer?: Replacer) => runtime.write(path, Buffer.from(JSON.stringify(value, replacer)))
  await write('timeline.json', toPayload(timeline), dropHandles)
  await write('sources_pool.json', { sources: timeline.sources.rows, next_sid: timeline.sources.next_sid })
  for (const call of calls) await runtime.write(`tool_calls/${call.callId}.json`, Buffer.from(callRecordText(call)))
}

/** Whether the context files were written before. Then a turn that uses no file has to write them again. */
export const hasContext = async ({ runtime }: Pick<Workspace, 'runtime'>): Promise<boolean> =>
  (await runtime.stat('timeline.json')) !== undefined

/**
 * The record of a call as JSON. A return value that can not be serialised is replaced by an error, so that the records of other calls are
 * still written.
 */
function callRecordText({ toolId, description, params, outcome }: CallRecord): string {
  const text = (ret: unknown) => JSON.stringify({ description, in: { tool_id: toolId, params }, ret }, encodeBytes)
  try {
    const { ok, error, output } = outcome
    return text({ ok, error: error ?? null, ret: declaresFiles(output) ? stripFileHandles(output as Json) : (output ?? null) })
  } catch {
    return text({ ok: false, error: { code: 'result_unfit', message: 'What the tool returned cannot be written as JSON.' }, ret: null })
  }
}

type Replacer = (this: unknown, key: string, value: unknown) => unknown

const handleFields: ReadonlySet<string> = new Set(['hosted_uri', 'rn', 'key', 'local_path', 'keeps'])

/** Leaves out where files are hosted. The model writes the programs that read these files, and it must not learn that. */
function dropHandles(this: unknown, key: string, value: unknown): unknown {
  return handleFields.has(key) ? undefined : value
}

/** Replaces bytes and bigints, because they have no JSON form. */
function encodeBytes(this: unknown, _key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return { __type__: 'bytes', __data__: Buffer.from(value).toString('base64') }
  return typeof value === 'bigint' ? String(value) : value
}
