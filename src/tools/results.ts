import {
  artifactContentBlock,
  artifactDigestBlock,
  type BlockOrigin,
  type Draft,
  digestText,
  internalNoteBlock,
  type Notice,
  noticeBlock,
  toolResultBlock,
} from '../core/block/index.ts'
import type { Json } from '../core/json.ts'
import { scrubBase64 } from '../core/render/scrub.ts'
import { declaresFiles } from './artifacts/declared.ts'
import type { DeliveredArtifact, DeliveredOutcome } from './artifacts/deliver.ts'

/**
 * The blocks of an outcome, always in this order: notices, `drafts`, artifacts and output, `after`. Errors of exec tools get no notice,
 * because these tools report them in their output. Throws when the output is not JSON.
 */
export function resultDrafts(
  origin: BlockOrigin,
  outcome: DeliveredOutcome,
  { exec = false }: { readonly exec?: boolean } = {},
): readonly Draft[] {
  const output = outputDrafts(origin, outcome)
  if (outcome.ok && !outcome.notices && !outcome.drafts && !outcome.delivered && !outcome.after) return output
  const { notices = [], drafts = [], delivered = [], after = [] } = outcome
  const artifacts = delivered.flatMap((artifact) => artifactDrafts(origin, artifact))
  return [
    ...(exec ? notices : withErrorNotice(outcome, notices)).map((notice) =>
      noticeBlock(origin, notice, notice.code.startsWith('protocol_') ? 'call' : 'result'),
    ),
    ...drafts,
    ...(describesFiles(outcome) ? [...output, ...artifacts] : [...artifacts, ...output]),
    ...after,
  ]
}

/** Whether the output introduces the artifacts and comes before them. Other output, such as the summary of a patch, comes after them. */
const describesFiles = ({ output }: DeliveredOutcome) => output !== undefined && (typeof output === 'string' || declaresFiles(output))

/**
 * Codes of notices that report an error themselves. If no notice has such a code, a `tool_call_error` or `tool_result_error` notice is
 * added.
 */
const ownErrorCodes = /^(protocol_violation|protocol_warning|react|tool_call_error|tool_call_warning|tool_result_error)\b/

function withErrorNotice({ ok, error }: DeliveredOutcome, notices: readonly Notice[]): readonly Notice[] {
  if (ok || !error || notices.some(({ code }) => ownErrorCodes.test(code) || code === error.code)) return notices
  const code = error.code === 'tool_call_error' ? 'tool_call_error' : 'tool_result_error'
  return [...notices, { code, message: error.message, error_code: error.code }]
}

function artifactDrafts(origin: BlockOrigin, { digest, mime, text, blob, note, meta }: DeliveredArtifact): readonly Draft[] {
  const path = digest.artifact_path
  const digestBlock = artifactDigestBlock(origin, digest)
  if (note !== undefined) {
    const noteBlock = internalNoteBlock(origin, path, note)
    return [
      digestBlock,
      { ...noteBlock, meta: { ...meta, digest: digestText({ ...digest, tool_call_id: origin.callId }), ...noteBlock.meta } },
    ]
  }
  const contentDigest = digest.visibility === undefined ? digest : { ...digest, visibility: meta.visibility }
  return [
    digestBlock,
    artifactContentBlock(origin, { path, mime, digest: contentDigest, meta, ...(text !== undefined && { text }), ...(blob && { blob }) }),
  ]
}

function outputDrafts(origin: BlockOrigin, { ok, error, output, delivered }: DeliveredOutcome): readonly Draft[] {
  if (!ok)
    return [
      toolResultBlock(origin, {
        mime: 'application/json',
        text: scrubBase64(toJsonText({ ok: false, status: 'error', error, ...retField(output) })),
      }),
    ]
  if (output === undefined) return delivered?.length ? [] : [toolResultBlock(origin, { mime: 'application/json', text: '{"ok":true}' })]
  if (typeof output === 'string') return [toolResultBlock(origin, { mime: 'text/plain', text: scrubBase64(output) })]
  return [toolResultBlock(origin, { mime: 'application/json', text: scrubBase64(toJsonText(output)) })]
}

const retField = (output: Json | undefined) => (output === undefined ? {} : { ret: output })

/** Like `JSON.stringify`, but throws for functions and symbols instead of giving undefined. */
function toJsonText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new TypeError('the output of the tool can not be written as JSON')
  return text
}
