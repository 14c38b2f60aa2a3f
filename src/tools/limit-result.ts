import type { Digest } from '../core/block/index.ts'
import { cutAt } from '../core/cut.ts'
import { type Json, maximumJsonDepth } from '../core/json.ts'
import { toLogical } from '../core/path/physical.ts'
import { failed } from './outcome.ts'
import type { Call, MadeArtifact, Outcome } from './tool.ts'

/**
 * The maximum size of the file in which a large result is stored. If a stream is longer, the file has only its first bytes. If any other
 * value is larger, the call fails.
 */
const MAX_FILE_BYTES = 64 * 1024 * 1024

/** How many characters of a large result the model sees. The complete result is in the file. */
const PREVIEW_CHARS = 4_000

/**
 * Makes sure that the output of an outcome has at most `maxBytes` bytes. A larger output is stored as a file of the turn, and the new
 * output is its beginning and the path of the file. If the output is a stream, it is read, but at most `MAX_FILE_BYTES` bytes of it. A long
 * error message is shortened.
 */
export function limitOutcome(outcome: Outcome, call: Call, maxBytes: number): Outcome | Promise<Outcome> {
  const { output, error } = outcome
  if (isAsyncIterable(output)) return readStream(outcome, output, call, maxBytes)
  const isErrorSmall = error === undefined || isWithin([error.message, error.details], maxBytes)
  if (isErrorSmall && isWithin(output, maxBytes)) return outcome
  const limited = isErrorSmall ? outcome : withShortError(outcome, maxBytes)
  return isWithin(output, maxBytes) ? limited : storeOutput(limited, output as Json, call)
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function'

/**
 * Whether a value has at most `limit` bytes when it is written as JSON. The size is estimated, and the function stops as soon as the limit
 * is exceeded.
 */
function isWithin(value: unknown, limit: number): boolean {
  if (typeof value === 'string') return value.length * 3 <= limit || Buffer.byteLength(value) <= limit
  if (typeof value !== 'object' || value === null) return true
  let left = limit
  const open: unknown[] = [value]
  const depths = [0]
  while (open.length > 0 && left >= 0) {
    const next = open.pop()
    const depth = (depths.pop() ?? 0) + 1
    if (depth > maximumJsonDepth) return true // the value is too deep for the journal, or contains itself. `resultDrafts` will report this
    if (typeof next === 'string') left -= Buffer.byteLength(next) + 3
    else if (typeof next !== 'object' || next === null) left -= 2
    else if (ArrayBuffer.isView(next)) left -= next.byteLength * 3
    else if (Array.isArray(next)) {
      left -= next.length * 2
      if (left < 0) return false
      for (const each of next) {
        open.push(each)
        depths.push(depth)
      }
    } else {
      for (const key of Object.keys(next)) {
        left -= key.length + 4
        open.push((next as Record<string, unknown>)[key])
        depths.push(depth)
      }
    }
  }
  return left >= 0
}

function withShortError({ error, ...outcome }: Outcome, maxBytes: number): Outcome {
  if (!error) return outcome
  const { details, ...rest } = error
  const message = cutAt(error.message, PREVIEW_CHARS)
  const note = message === error.message ? '' : ` [cut: the message has ${error.message.length} characters]`
  const kept = details !== undefined && isWithin(details, maxBytes) ? { details } : {}
  const notices = outcome.notices && {
    notices: outcome.notices.map((notice) => ({ ...notice, message: cutAt(notice.message, PREVIEW_CHARS) })),
  }
  return { ...outcome, ...notices, error: { ...rest, message: message + note, ...kept } }
}

async function storeOutput(outcome: Outcome, output: Json, call: Call): Promise<Outcome> {
  if (!isWithin(output, MAX_FILE_BYTES)) return tooLarge
  const text = typeof output === 'string' ? output : jsonText(output)
  if (text === undefined) return outcome // the output can not be written as JSON. `resultDrafts` will report this
  // The file gets the extension `.txt`, because `examine` would parse the whole text of a `.json` file.
  return withFile(outcome, { bytes: Buffer.from(text), mime: 'text/plain' }, call, '')
}

function jsonText(value: Json): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** Reads a stream of texts or bytes. Stops the stream after `MAX_FILE_BYTES` bytes. */
async function readStream(outcome: Outcome, stream: AsyncIterable<unknown>, call: Call, maxBytes: number): Promise<Outcome> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of stream) {
    call.signal.throwIfAborted()
    const bytes = piece instanceof Uint8Array ? piece : Buffer.from(typeof piece === 'string' ? piece : `${JSON.stringify(piece)}\n`)
    const kept = bytes.subarray(0, MAX_FILE_BYTES - size)
    pieces.push(kept)
    size += kept.length
    if (kept.length < bytes.length) break // `break` also ends the stream
  }
  const bytes = Buffer.concat(pieces)
  const rest = size === MAX_FILE_BYTES ? ` The tool returned more than ${MAX_FILE_BYTES} bytes; the rest was not read.` : ''
  if (size <= maxBytes) return { ...outcome, output: bytes.toString() }
  return withFile(outcome, { bytes, mime: bytes.includes(0) ? 'application/octet-stream' : 'text/plain' }, call, rest)
}

interface LargeContent {
  readonly bytes: Uint8Array
  readonly mime: string
}

/**
 * Stores the output as a file of the turn. Returns the outcome with this file as an artifact, and with a preview as its output. If the
 * agent has a workspace, the file is also written there, so that programs can read it.
 */
async function withFile(outcome: Outcome, { bytes, mime }: LargeContent, call: Call, rest: string): Promise<Outcome> {
  const { turnId, callId } = call.origin
  const extension = mime === 'text/plain' ? 'txt' : 'bin'
  const physical = `${turnId}/outputs/result-${callId}.${extension}`
  const path = toLogical(physical) as string // a path of this form is always valid
  await writeToWorkspace(physical, bytes, call)
  const preview =
    mime === 'application/octet-stream' ? '' : cutAt(Buffer.from(bytes.subarray(0, PREVIEW_CHARS * 4)).toString(), PREVIEW_CHARS)
  const note = `[The result has ${bytes.length} bytes. The whole result is in ${path}: read it with react.read.${rest}]`
  const digest: Digest = {
    artifact_path: path,
    physical_path: physical,
    mime,
    kind: 'file',
    visibility: 'internal',
    size_bytes: bytes.length,
  }
  const artifact: MadeArtifact = { digest, mime, text: `${preview === '' ? '' : `${preview}\n`}${note}`, bytes }
  return { ...outcome, output: artifact.text as string, artifacts: [...(outcome.artifacts ?? []), artifact] }
}

async function writeToWorkspace(physical: string, bytes: Uint8Array, call: Call): Promise<void> {
  try {
    const { files } = await call.workspace()
    await files.write(physical, bytes)
  } catch (error) {
    call.onProblem?.({ where: `result of ${call.toolId}`, error }) // the journal has the file
  }
}

const tooLarge = failed(
  'result_too_large',
  `The tool ran, but its result has more than ${MAX_FILE_BYTES} bytes and was not kept. Whatever it did is done. Ask it for less.`,
)
