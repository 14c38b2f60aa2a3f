import {
  artifactContent,
  artifactDigest,
  type Draft,
  internalNote,
  type Notice,
  notice,
  type Place,
  toolResult,
} from '../core/block/index.ts'
import type { Json } from '../core/json.ts'
import type { MadeArtifact, Outcome } from './tool.ts'

/** An outcome as blocks, in the fixed order: notices, what the tool entered itself, then results. Throws for what is no JSON. */
export function resultDrafts(place: Place, outcome: Outcome): readonly Draft[] {
  return [
    ...noticesOf(outcome).map((said) => notice(place, said, 'result')),
    ...(outcome.drafts ?? []),
    ...(outcome.artifacts ?? []).flatMap((artifact) => artifactDrafts(place, artifact)),
    ...answerDrafts(place, outcome),
    ...(outcome.after ?? []),
  ]
}

/** Codes that a tool reports in words of its own; everything else is said to be a tool's error or the call's. */
const spoken = /^(protocol_violation|protocol_warning|react|tool_call_error|tool_call_warning|tool_result_error)\b/

function noticesOf({ ok, error, notices = [] }: Outcome): readonly Notice[] {
  if (ok || !error || notices.some(({ code }) => spoken.test(code) || code === error.code)) return notices
  const code = error.code === 'tool_call_error' ? 'tool_call_error' : 'tool_result_error'
  return [...notices, { code, message: error.message, error_code: error.code }]
}

function artifactDrafts(place: Place, { digest, mime, text, note }: MadeArtifact): readonly Draft[] {
  const path = digest.artifact_path
  const about = artifactDigest(place, digest)
  if (note !== undefined) return [about, internalNote(place, path, note)]
  const meta = { visibility: digest.visibility ?? ('external' as const), ...(digest.sources_used && { sources_used: digest.sources_used }) }
  return [about, artifactContent(place, { path, mime, digest, meta, ...(text !== undefined && { text }) })]
}

function answerDrafts(place: Place, { ok, error, output, artifacts = [] }: Outcome): readonly Draft[] {
  if (!ok) return [toolResult(place, { mime: 'application/json', text: json({ ok: false, status: 'error', error, ...shown(output) }) })]
  if (output === undefined) return artifacts.length > 0 ? [] : [toolResult(place, { mime: 'application/json', text: '{"ok":true}' })]
  if (typeof output === 'string') return [toolResult(place, { mime: 'text/plain', text: output })]
  return [toolResult(place, { mime: 'application/json', text: json(output) })]
}

const shown = (output: Json | undefined) => (output === undefined ? {} : { ret: output })

/** Throws for what has no JSON form: also for functions and symbols, of which nothing would be left. */
function json(value: unknown): string {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new TypeError('not JSON')
  return text
}
