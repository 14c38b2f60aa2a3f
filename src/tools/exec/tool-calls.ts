import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import type { SandboxRequest } from '../../ports/sandbox.ts'
import { parseDeclaredFiles, stripFileHandles } from '../artifacts/declared.ts'
import { invoke } from '../invoke.ts'
import { declaresFiles, failed, mayHoldSources, type OutcomeParts } from '../outcome.ts'
import { poolNumbersOf, withParsedSources, withPoolNumbers } from '../source-numbers.ts'
import type { Call, Outcome } from '../tool.ts'
import type { ExecOptions } from './exec-tools.ts'

/** How many tool calls one program may make. Further calls are refused. */
const maxCalls = 50
/** The time limit of a tool that has no `timeoutMs`. */
const defaultTimeoutMs = 240_000

/**
 * The result of a tool call that a program made: the answer for the program, the record for the report, and the parts for the result of the
 * exec tool.
 */
export interface CodeCall {
  /** An envelope `{ok, error, ret}`. An error means that no tool ran; the program gets it as an exception. */
  readonly answer: Json | Error
  readonly record: JsonObject
  readonly results: OutcomeParts
}

/**
 * Calls a tool for a program. Only tools with `callableFromCode` can be called. The sources of the tool get SIDs of the pool before the
 * program sees them, so the program can cite them. `number` counts the calls of the program from 1.
 */
export async function callToolFromCode(
  { toolId, params, reason }: Extract<SandboxRequest, { kind: 'tool_call' }>,
  number: number,
  call: Call,
  { callable: all, limits }: ExecOptions,
): Promise<CodeCall> {
  const callable = call.offers ? all.filter(({ id }) => call.offers?.(id)) : all
  const about = { tool_id: toolId.slice(0, 200), ...(reason !== undefined && { reason: reason.slice(0, 400) }) }
  const refuse = (code: string, message: string): CodeCall => ({
    answer: new Error(`${code}: ${message}`),
    record: { ...about, ok: false, error_code: code },
    results: {},
  })
  if (number > maxCalls) return refuse('call_budget_exhausted', `a program may call at most ${maxCalls} tools`)
  const tool = callable.find(({ id }) => id === toolId)
  if (!tool) return refuse('tool_not_allowed', `${about.tool_id} can not be called from code. ${allowedText(callable)}`)
  const limited = { ...tool, timeoutMs: tool.timeoutMs ?? defaultTimeoutMs }
  // Tools name their files by the id of the call, so each call of a program has an id of its own.
  const origin = { ...call.origin, callId: `${call.origin.callId}-${number}` }
  const { completionToken: _token, ...context } = call // a program can not wait for a late result
  const nested: Call = { ...context, origin, toolId, idempotencyKey: `${call.idempotencyKey}/${number}`, code: undefined }
  const roomy = { ...limits, maxResultBytes: Math.max(limits.maxResultBytes, minResultBytes) }
  const invocation = await invoke(limited, decodeBytes(params) as Readonly<Record<string, unknown>>, nested, roomy)
  const returned = invocation.outcome.later ? lateResult : invocation.outcome
  const outcome = withDeclaredFiles(numbered(returned, call), call)
  const { ok, error, output, report: _none, ...results } = outcome
  return {
    answer: { ok, error: error ? (error as unknown as JsonObject) : null, ret: output ?? null },
    record: { ...about, ok, ...(error && { error_code: error.code }) },
    results,
  }
}

const lateResult = failed('late_result', 'The result of this call arrives later, and a program can not wait for it.')

/** The limit of a result is at least this size, because a program can use larger results than a prompt. */
const minResultBytes = 10 * 1024 * 1024

/**
 * Files that the tool declares in its output become artifacts of the exec tool. The fields that say where files are hosted are removed from
 * the output.
 */
function withDeclaredFiles(outcome: Outcome, { origin, timeline }: Call): Outcome {
  const { output, artifacts = [] } = outcome
  if (output === undefined || !declaresFiles(output)) return outcome
  const made = parseDeclaredFiles(output, origin, timeline).flatMap((file) =>
    file.kind === 'made' ? [{ digest: file.digest, mime: file.mime }] : [],
  )
  return { ...outcome, output: stripFileHandles(output), artifacts: [...artifacts, ...made] }
}

const allowedText = (callable: ExecOptions['callable']) =>
  callable.length === 0 ? 'No tool can be called from code.' : `Only these can: ${callable.map(({ id }) => id).join(', ')}.`

/** The outcome with SIDs of the pool in place of the numbers that the tool gave to its sources. */
function numbered(outcome: Outcome, { timeline }: Call): Outcome {
  if (!mayHoldSources(outcome)) return outcome
  const parsed = withParsedSources(outcome)
  const numbers = poolNumbersOf(parsed, timeline.sources)
  return numbers ? withPoolNumbers(parsed, numbers) : parsed
}

/** Bytes have no JSON form, so programs send them as `{"__type__": "bytes", "__data__": "<base64>"}`. */
function decodeBytes(value: Json): unknown {
  if (Array.isArray(value)) return value.map(decodeBytes)
  if (!isObject(value)) return value
  if (value.__type__ === 'bytes' && typeof value.__data__ === 'string') return new Uint8Array(Buffer.from(value.__data__, 'base64'))
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, decodeBytes(inner as Json)]))
}
