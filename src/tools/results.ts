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
import { scrubBase64 } from '../core/render/scrub.ts'
import { declaresFiles } from './artifacts/declared.ts'
import type { Delivered, DeliveredArtifact } from './artifacts/deliver.ts'

/**
 * An outcome as blocks, in the fixed order: notices, what the tool entered itself, then results: what was made, or an answer and the
 * files it declared. Exec tools speak of their errors in a report of their own. Throws for what is no JSON.
 */
export function resultDrafts(place: Place, outcome: Delivered, { exec = false }: { readonly exec?: boolean } = {}): readonly Draft[] {
  const answer = answerDrafts(place, outcome)
  if (isOnlyAnswer(outcome)) return answer
  const { notices = [], drafts = [], delivered = [], after = [] } = outcome
  const made = delivered.flatMap((artifact) => artifactDrafts(place, artifact))
  return [
    ...(exec ? notices : withError(outcome, notices)).map((said) =>
      notice(place, said, said.code.startsWith('protocol_') ? 'call' : 'result'),
    ),
    ...drafts,
    ...(isReport(outcome) ? [...answer, ...made] : [...made, ...answer]),
    ...after,
  ]
}

/** As most are: nothing to say about it, nothing made, nothing entered. */
const isOnlyAnswer = ({ ok, notices, drafts, delivered, after }: Delivered) =>
  ok && notices === undefined && drafts === undefined && delivered === undefined && after === undefined

/** An answer that speaks of the files comes before them; the summary of a patch after. */
const isReport = ({ output }: Delivered) => output !== undefined && (typeof output === 'string' || declaresFiles(output))

/** Codes that a tool reports in words of its own; everything else is said to be a tool's error or the call's. */
const spoken = /^(protocol_violation|protocol_warning|react|tool_call_error|tool_call_warning|tool_result_error)\b/

function withError({ ok, error }: Delivered, notices: readonly Notice[]): readonly Notice[] {
  if (ok || !error || notices.some(({ code }) => spoken.test(code) || code === error.code)) return notices
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

function answerDrafts(place: Place, { ok, error, output, delivered }: Delivered): readonly Draft[] {
  if (!ok)
    return [
      toolResult(place, { mime: 'application/json', text: scrubBase64(json({ ok: false, status: 'error', error, ...shown(output) })) }),
    ]
  if (output === undefined) return delivered?.length ? [] : [toolResult(place, { mime: 'application/json', text: '{"ok":true}' })]
  if (typeof output === 'string') return [toolResult(place, { mime: 'text/plain', text: scrubBase64(output) })]
  return [toolResult(place, { mime: 'application/json', text: scrubBase64(json(output)) })]
}

const shown = (output: Json | undefined) => (output === undefined ? {} : { ret: output })

/** Throws for what has no JSON form: also for functions and symbols, of which nothing would be left. */
function json(value: unknown): string {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new TypeError('not JSON')
  return text
}
