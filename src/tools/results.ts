import {
  artifactContent,
  artifactDigest,
  type Draft,
  digestText,
  internalNote,
  type Notice,
  notice,
  type Place,
  toolResult,
} from '../core/block/index.ts'
import type { Json } from '../core/json.ts'
import { scrubBase64 } from '../core/render/redact.ts'
import { declaresFiles } from './artifacts/declared.ts'
import type { DeliveredArtifact, DeliveredOutcome } from './artifacts/deliver.ts'

/**
 * An outcome as blocks, in the fixed order: notices, what the tool entered itself, then results: what was made, or an answer and the
 * files it declared. Exec tools speak of their errors in a report of their own. Throws for what is no JSON.
 */
export function resultDrafts(
  place: Place,
  outcome: DeliveredOutcome,
  { exec = false }: { readonly exec?: boolean } = {},
): readonly Draft[] {
  const answer = outputDrafts(place, outcome)
  if (isOnlyAnswer(outcome)) return answer
  const { notices = [], drafts = [], delivered = [], after = [] } = outcome
  const made = delivered.flatMap((artifact) => artifactDrafts(place, artifact))
  return [
    ...(exec ? notices : withErrorNotice(outcome, notices)).map((said) =>
      notice(place, said, said.code.startsWith('protocol_') ? 'call' : 'result'),
    ),
    ...drafts,
    ...(describesFiles(outcome) ? [...answer, ...made] : [...made, ...answer]),
    ...after,
  ]
}

/** As most are: nothing to say about it, nothing made, nothing entered. */
const isOnlyAnswer = ({ ok, notices, drafts, delivered, after }: DeliveredOutcome) =>
  ok && notices === undefined && drafts === undefined && delivered === undefined && after === undefined

/** An answer that speaks of the files comes before them; the summary of a patch after. */
const describesFiles = ({ output }: DeliveredOutcome) => output !== undefined && (typeof output === 'string' || declaresFiles(output))

/** Codes that a tool reports in words of its own; everything else is said to be a tool's error or the call's. */
const ownErrorCodes = /^(protocol_violation|protocol_warning|react|tool_call_error|tool_call_warning|tool_result_error)\b/

function withErrorNotice({ ok, error }: DeliveredOutcome, notices: readonly Notice[]): readonly Notice[] {
  if (ok || !error || notices.some(({ code }) => ownErrorCodes.test(code) || code === error.code)) return notices
  const code = error.code === 'tool_call_error' ? 'tool_call_error' : 'tool_result_error'
  return [...notices, { code, message: error.message, error_code: error.code }]
}

function artifactDrafts(place: Place, { digest, mime, text, blob, note, meta }: DeliveredArtifact): readonly Draft[] {
  const path = digest.artifact_path
  const about = artifactDigest(place, digest)
  if (note !== undefined) {
    const said = internalNote(place, path, note)
    return [about, { ...said, meta: { ...meta, digest: digestText({ ...digest, tool_call_id: place.callId }), ...said.meta } }]
  }
  const whole = digest.visibility === undefined ? digest : { ...digest, visibility: meta.visibility }
  return [about, artifactContent(place, { path, mime, digest: whole, meta, ...(text !== undefined && { text }), ...(blob && { blob }) })]
}

function outputDrafts(place: Place, { ok, error, output, delivered }: DeliveredOutcome): readonly Draft[] {
  if (!ok)
    return [
      toolResult(place, {
        mime: 'application/json',
        text: scrubBase64(toJsonText({ ok: false, status: 'error', error, ...retField(output) })),
      }),
    ]
  if (output === undefined) return delivered?.length ? [] : [toolResult(place, { mime: 'application/json', text: '{"ok":true}' })]
  if (typeof output === 'string') return [toolResult(place, { mime: 'text/plain', text: scrubBase64(output) })]
  return [toolResult(place, { mime: 'application/json', text: scrubBase64(toJsonText(output)) })]
}

const retField = (output: Json | undefined) => (output === undefined ? {} : { ret: output })

/** Throws for what has no JSON form: also for functions and symbols, of which nothing would be left. */
function toJsonText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new TypeError('not JSON')
  return text
}
