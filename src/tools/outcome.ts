import {
  artifactContentBlock,
  artifactDigestBlock,
  type BlockOrigin,
  type Digest,
  type Draft,
  digestText,
  internalNoteBlock,
  type Notice,
  noticeBlock,
  resultMetadataBlock,
  toolResultBlock,
} from '../core/block/index.ts'
import { cutAt } from '../core/cut.ts'
import { isObject, type Json, maximumJsonDepth } from '../core/json.ts'
import { sourcesPath as sourcesPathOf } from '../core/path/build.ts'
import { rowSids } from '../core/render/blocks/tool-result.ts'
import { scrubBase64 } from '../core/render/text.ts'
import { redact } from '../core/secrets.ts'
import type { DeliveredArtifact, DeliveredOutcome } from './artifacts/deliver.ts'
import type { ExecReport, Outcome, ToolError } from './tool.ts'

/**
 * What the function `run` of a tool may return: an `Envelope`, an outcome of `succeeded` or `failed`, or any value that can be written as
 * JSON. The type is `unknown`, because no narrower type accepts objects with an interface type and also the parsed body of an HTTP
 * response. If the value can not be written as JSON, the call fails.
 */
export type Returned = unknown

/**
 * A return value or an error, with an explicit `ok`. Some tools set a flag `managed` in the error. Daybook does not use this flag and
 * removes it.
 */
export interface Envelope {
  readonly ok: boolean
  readonly error?: (ToolError & { readonly managed?: boolean }) | null
  readonly ret?: unknown
}

/** The prototype of all outcomes. `outcomeOf` recognises outcomes by it, because other objects may have a field `ok` too. */
const outcomePrototype = Object.freeze({})

/** The fields of an outcome besides `ok` and `error`. */
export type OutcomeParts = Omit<Outcome, 'ok' | 'error'>

/**
 * A successful outcome. Besides `output` it may have artifacts, notices, sources and changes of the timeline. A tool that returns only an
 * output can return the output itself.
 */
export function succeeded(outcome: OutcomeParts): Outcome {
  return createOutcome({ ...outcome, ok: true })
}

/**
 * The outcome of a call whose result arrives later, for example when a person or another system has done something. The turn waits for
 * `agent.complete` and needs no process until then. `expiresAt` is ISO 8601, such as `2026-01-01T00:00:00Z`, or a `Date`.
 */
export function later(options: { readonly note?: string; readonly expiresAt?: string | Date } = {}): Outcome {
  const { note, expiresAt } = options
  const expires = expiresAt === undefined ? undefined : new Date(expiresAt)
  if (expires && Number.isNaN(expires.getTime())) throw new RangeError('later: `expiresAt` must be a time such as 2026-01-01T00:00:00Z')
  return createOutcome({
    ok: true,
    later: { ...(note !== undefined && { note: cutAt(note, MAX_NOTE_CHARS) }), ...(expires && { expiresAt: expires.toISOString() }) },
  })
}

/** How long the note of `later` may be. It is part of the list of all waits. */
export const MAX_NOTE_CHARS = 1_000

/** A failed outcome. The model reads its code, message and details. */
export function failed(code: string, message: string, more: OutcomeParts & Pick<ToolError, 'details'> = {}): Outcome {
  const { details, ...rest } = more
  return createOutcome({ ...rest, ok: false, error: { code, message, ...(details !== undefined && { details }) } })
}

/** The outcome with these notices before its own notices. */
export const withNotices = (outcome: Outcome, notices: readonly Notice[]): Outcome =>
  notices.length === 0 ? outcome : createOutcome({ ...outcome, notices: [...notices, ...(outcome.notices ?? [])] })

/** The outcome of an exec tool. The model reads the report, even if there is an error. */
export function reported(report: ExecReport, error: ToolError | undefined, more: OutcomeParts): Outcome {
  return createOutcome({ ...more, ok: error === undefined, ...(error && { error }), report })
}

/**
 * Makes an outcome from the return value of a tool. An outcome is returned unchanged, an envelope is unwrapped, and any other value becomes
 * the output.
 */
export function outcomeOf(returned: unknown): Outcome {
  if (isOutcome(returned)) return returned
  if (returned === undefined) return succeeded({})
  if (!isObject(returned) || typeof returned.ok !== 'boolean') return succeeded({ output: returned as Json })
  const { ok, error, ret } = returned
  const output = 'ret' in returned ? ((ret ?? null) as Json) : remainingFields(returned)
  if (ok) return succeeded({ ...(output !== undefined && { output }) })
  return createOutcome({ ok: false, error: toToolError(error), ...(output !== undefined && output !== null && { output }) })
}

/**
 * The output of a tool that returned `{ ok, error, … }` without `ret`: the other fields of this object. Undefined when there are none. If
 * `ok` is true, a field `error` is not an error but data, so it is kept.
 */
function remainingFields({ ok, error, ...rest }: { readonly [key: string]: unknown }): Json | undefined {
  const fields = ok === true && error !== undefined && error !== null ? { ...rest, error } : rest
  return Object.keys(fields).length === 0 ? undefined : (fields as Json)
}

function isOutcome(returned: unknown): returned is Outcome {
  return typeof returned === 'object' && returned !== null && Object.getPrototypeOf(returned) === outcomePrototype
}

/**
 * Makes an error with code and message from any value. Absolute paths and credentials are removed, because tools often pass on messages of
 * libraries.
 */
function toToolError(error: unknown): ToolError {
  if (typeof error === 'string' && error !== '') return { code: 'tool_error', message: redact(error) }
  if (!isObject(error)) return { code: 'tool_error', message: 'Tool returned ok=false' }
  const text = (key: string) => (typeof error[key] === 'string' && error[key] !== '' ? (error[key] as string) : undefined)
  const where = text('where')
  return {
    code: text('code') ?? 'tool_error',
    message: redact(text('message') ?? 'Tool returned ok=false'),
    ...(where !== undefined && { where }),
    ...(error.details !== undefined && { details: withoutManagedFlag(error.details) as Json }),
    ...(typeof error.retryable === 'boolean' && { retryable: error.retryable }),
  }
}

/** Removes the flag `managed` at any depth. */
function withoutManagedFlag(value: unknown, depth = 0): unknown {
  if (depth > maximumJsonDepth) return value // the journal rejects values of this depth
  if (Array.isArray(value)) return value.map((inner) => withoutManagedFlag(inner, depth + 1))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (key === 'managed' ? [] : [[key, withoutManagedFlag(inner, depth + 1)]])),
  )
}

/** Marks an object with the fields of an outcome as an outcome. */
export const createOutcome = (outcome: Outcome): Outcome => Object.assign(Object.create(outcomePrototype), outcome)

/**
 * The blocks of an outcome, in this order: its `notices`, its `drafts`, its artifacts and its output, then its blocks `after`. The digests
 * of all artifacts come before the content of the first artifact, so that the prompt can show the digests under one heading. The error of
 * an exec tool gets no notice, because exec tools report errors in their output. Throws when the output is not JSON.
 */
export function resultDrafts(
  origin: BlockOrigin,
  outcome: DeliveredOutcome,
  { toolId, exec = false }: { readonly toolId: string; readonly exec?: boolean },
): readonly Draft[] {
  const output = outputDrafts(origin, outcome, hasMetadata(toolId, exec) ? toolId : undefined)
  if (outcome.ok && !outcome.notices && !outcome.drafts && !outcome.delivered && !outcome.after) return output
  const { notices = [], drafts = [], delivered = [], after = [] } = outcome
  const artifacts = artifactDrafts(origin, delivered, toolId)
  return [
    ...(exec ? notices : withErrorNotice(outcome, notices)).map((notice) =>
      noticeBlock(origin, notice, notice.code.startsWith('protocol_') ? 'call' : 'result'),
    ),
    ...drafts,
    ...(describesFiles(outcome) ? [...output, ...artifacts] : [...artifacts, ...output]),
    ...after,
  ]
}

/**
 * Whether a block that describes the output is put before it (`resultMetadataBlock`). Built-in tools and exec tools get no such block,
 * because they describe their results themselves.
 */
const hasMetadata = (toolId: string, exec: boolean) => !exec && !toolId.startsWith('react.')

/**
 * Whether the output comes before the artifacts. It comes first when it is a text, is a report or declares files, because such an output
 * introduces the artifacts. Any other output, such as the result of `react.patch`, comes after the artifacts.
 */
const describesFiles = ({ output, report }: DeliveredOutcome) =>
  report !== undefined || (output !== undefined && (typeof output === 'string' || declaresFiles(output)))

/**
 * Codes of notices that already report the error of the call. If the outcome has no such notice, one with the code `tool_call_error` or
 * `tool_result_error` is added.
 */
const ownErrorCodes = /^(protocol_violation|protocol_warning|react|tool_call_error|tool_call_warning|tool_result_error)\b/

function withErrorNotice({ ok, error }: DeliveredOutcome, notices: readonly Notice[]): readonly Notice[] {
  if (ok || !error || notices.some(({ code }) => ownErrorCodes.test(code) || code === error.code)) return notices
  const code = error.code === 'tool_call_error' ? 'tool_call_error' : 'tool_result_error'
  return [...notices, { code, message: error.message, error_code: error.code }]
}

function artifactDrafts(origin: BlockOrigin, delivered: readonly DeliveredArtifact[], toolId: string): readonly Draft[] {
  const digests = delivered.map(({ digest }) => ({ ...digest, tool_id: toolId }))
  const failedFirst = [...digests.filter(isFailed), ...digests.filter((digest) => !isFailed(digest))]
  return [
    ...failedFirst.map((digest) => artifactDigestBlock(origin, digest)),
    ...delivered.map((artifact, index) => contentDraft(origin, artifact, digests[index] as Digest)),
  ]
}

/**
 * Whether the artifact could not be delivered. The digests of such artifacts come first, because the prompt shows the status in the first
 * digest as the status of the call.
 */
const isFailed = ({ status }: Digest) => status === 'error'

function contentDraft(origin: BlockOrigin, { mime, text, blob, note, meta }: DeliveredArtifact, digest: Digest): Draft {
  const path = digest.artifact_path
  if (note !== undefined) {
    const noteBlock = internalNoteBlock(origin, path, note)
    return { ...noteBlock, meta: { ...meta, digest: digestText({ ...digest, tool_call_id: origin.callId }), ...noteBlock.meta } }
  }
  return artifactContentBlock(origin, { path, mime, digest, meta, ...(text !== undefined && { text }), ...(blob && { blob }) })
}

/**
 * The blocks of the output. If `metadataFor` is the id of a tool, a block that describes the output is put before a successful output.
 * `metadataFor` is undefined for built-in tools and exec tools. The output of these tools is internal, because it repeats content of files,
 * paths and notes.
 */
function outputDrafts(
  origin: BlockOrigin,
  { ok, error, output, delivered, report, child }: DeliveredOutcome,
  metadataFor: string | undefined,
): readonly Draft[] {
  if (report) {
    const meta = { ...internalOutput, exec_report: report.facts }
    return [toolResultBlock(origin, { mime: 'text/markdown', text: scrubBase64(report.text), meta })]
  }
  const visibility = metadataFor === undefined ? internalOutput : externalOutput
  const meta = child ? { ...visibility, child } : visibility
  if (!ok) {
    const text = scrubBase64(toJsonText({ ok: false, status: 'error', error, ...retField(output) }))
    return [toolResultBlock(origin, { mime: 'application/json', text, meta })]
  }
  if (output === undefined && delivered?.length) return []
  const content = successContent(output)
  const result = toolResultBlock(origin, { mime: content.mime, text: content.text, meta })
  if (metadataFor === undefined) return [result]
  const sids = mayHoldSources({ output }) ? rowSids(output) : []
  const sourcesPath = sids.length === 0 ? undefined : sourcesPathOf(sids)
  return [resultMetadataBlock(origin, result, { toolId: metadataFor, sourcesPath }), result]
}

/**
 * Whether an outcome may contain source rows, which are objects with a `sid` and a URL. This is a fast check. Most outputs are texts or
 * flat objects without a `sid`. These are not parsed.
 */
export function mayHoldSources({ sources, output }: { readonly sources?: unknown; readonly output?: Json | undefined }): boolean {
  if (sources !== undefined) return true
  if (typeof output === 'string') return output.includes('"sid"')
  if (typeof output !== 'object' || output === null) return false
  if (!isObject(output)) return true
  for (const key in output) if (key === 'sid' || (typeof output[key] === 'object' && output[key] !== null)) return true
  return false
}

const internalOutput = { visibility: 'internal' } as const
const externalOutput = { visibility: 'external' } as const

function successContent(output: Json | undefined): { readonly mime: string; readonly text: string } {
  if (output === undefined) return { mime: 'text/plain', text: 'The tool succeeded. It returned no value.' }
  if (typeof output === 'string') return { mime: 'text/plain', text: scrubBase64(output) }
  return { mime: 'application/json', text: scrubBase64(toJsonText(output)) }
}

const retField = (output: Json | undefined) => (output === undefined ? {} : { ret: output })

/** Writes a value as JSON. Throws for functions and symbols, for which `JSON.stringify` returns undefined. */
function toJsonText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new TypeError('the output of the tool can not be written as JSON')
  return text
}

/** Whether the output, or a value one level below, declares files. A list of files without `artifact_type` is plain data. */
export const declaresFiles = (output: Json | undefined): boolean => declaredRows(output) !== undefined

/** The rows of the files that an output declares. Undefined when it declares none. */
export function declaredRows(output: unknown): readonly unknown[] | undefined {
  if (!isObject(output)) return undefined
  if (output.artifact_type === 'files') return Array.isArray(output.files) ? output.files : undefined
  for (const key in output) {
    const inner = output[key]
    if (isObject(inner) && inner.artifact_type === 'files' && Array.isArray(inner.files)) return inner.files
  }
  return undefined
}

/**
 * The code of the rule that a failed call broke, such as `protocol_violation.…`. It is the code of the error itself, or the code of a
 * notice with `protocol_violation.` before the code of the error. Undefined when the call failed for another reason.
 */
export function violationCode({ ok, error, notices }: DeliveredOutcome): string | undefined {
  if (ok || !error) return undefined
  if (error.code.startsWith('protocol_violation.')) return error.code
  return notices?.find(({ code }) => code === `protocol_violation.${error.code}`)?.code
}
