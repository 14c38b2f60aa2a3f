import type { Json } from '../core/json.ts'
import { toPayload } from '../core/timeline/payload.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import type { Workspace } from '../ports/workspace.ts'
import { declaresFiles, stripFileHandles } from './artifacts/declared.ts'
import type { Outcome } from './tool.ts'

/** One call as it really was: with what its parameters referred to, and what the tool gave back. */
export interface CallRecord {
  readonly callId: string
  readonly toolId: string
  readonly description: string
  readonly params: Readonly<Record<string, unknown>>
  readonly outcome: Outcome
}

/** The calls of a turn that nobody has written down yet. */
export interface CallLog {
  add(record: CallRecord): void
  drain(): readonly CallRecord[]
}

export function createCallLog(): CallLog {
  let waiting: CallRecord[] = []
  return {
    add: (record) => {
      waiting.push(record)
    },
    drain() {
      const taken = waiting
      waiting = []
      return taken
    },
  }
}

/**
 * What programs of the agent may look at, beside OUT_DIR where it cannot write: `timeline.json` (conv.timeline.v1), `sources_pool.json`
 * with whole rows, and one `tool_calls/<call>.json` for each call. Written when a program is about to run and when a turn ends.
 */
export async function flushContext(
  { timeline, workspace }: { readonly timeline: Timeline; workspace(): Promise<Workspace> },
  calls: readonly CallRecord[] = [],
): Promise<void> {
  const { runtime } = await workspace()
  const write = (path: string, value: unknown, replacer?: Replacer) => runtime.write(path, Buffer.from(JSON.stringify(value, replacer)))
  await write('timeline.json', toPayload(timeline), dropHandles)
  await write('sources_pool.json', { sources: timeline.sources.rows, next_sid: timeline.sources.next_sid })
  for (const call of calls) await runtime.write(`tool_calls/${call.callId}.json`, Buffer.from(callRecordText(call)))
}

/** What a tool returned may be anything: one that cannot be written down must not cost the others theirs. */
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

/** Programs are the model's: where files are hosted is not for them. */
function dropHandles(this: unknown, key: string, value: unknown): unknown {
  return handleFields.has(key) ? undefined : value
}

/** What JSON cannot hold. */
function encodeBytes(this: unknown, _key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return { __type__: 'bytes', __data__: Buffer.from(value).toString('base64') }
  return typeof value === 'bigint' ? String(value) : value
}
