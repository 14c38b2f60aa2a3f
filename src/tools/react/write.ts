import { z } from 'zod'
import { extractSids } from '../../core/citations/sids.ts'
import { normalizeTarget, type Target } from '../../core/path/target.ts'
import { editedBefore } from '../../core/timeline/artifacts.ts'
import { knownTurns } from '../../core/timeline/turns.ts'
import { defineTool } from '../define.ts'
import { mimeOf } from '../mime.ts'
import { failed, succeeded } from '../outcome.ts'
import type { MadeArtifact } from '../tool.ts'

const params = z.object({
  path: z.string().describe('where: files/<scope>/<name> for what lasts, outputs/<scope>/<name> for what is only produced'),
  channel: z.enum(['canvas', 'timeline_text', 'internal']).default('canvas').describe('who sees it grow; internal is a note to yourself'),
  content: z.unknown().describe('the text, or a JSON value'),
  kind: z.enum(['display', 'file']).default('display').describe('shown in place, or handed over as a file'),
})

type Written = z.infer<typeof params>

const canvasFormats = /\.(md|markdown|html?|mermaid|mmd|json|ya?ml|txt|xml)$/i
const longestNote = 2_000

export const writeTool = defineTool({
  id: 'react.write',
  description: 'Write a text artifact of this turn, or an internal note.',
  params,
  order: 'hard',
  strategy: 'exploitation',
  repeatable: true,
  returns: 'the artifact and where it is',
  run(given, call) {
    const target = normalizeTarget(given.path, { currentTurn: call.place.turnId, knownTurns: knownTurns(call.timeline) })
    if (!target.ok) return failed(target.code, target.message)
    const text = typeof given.content === 'string' ? given.content : JSON.stringify(given.content, null, 2)
    if (text === undefined) return failed('content_missing', 'react.write needs content.')
    const notices = [...rewriteNotice(target), ...extensionNotice(target.physical, given.channel)]
    const edited = editedBefore(call.timeline, target.logical, call.place.callId)
    const artifact = artifactOf(target, text, given, edited, call.sight.tokens)
    if (text !== '') return succeeded({ artifacts: [artifact], notices })
    const error = { code: 'artifact_invalid', message: 'empty_file', where: 'artifact_analysis' }
    const empty = { code: 'tool_result_error', message: 'The written file is empty.', error }
    return succeeded({ artifacts: [{ ...artifact, digest: { ...artifact.digest, status: 'error', error } }], notices: [...notices, empty] })
  },
})

function artifactOf(
  { logical, physical }: Target & { ok: true },
  text: string,
  { channel, kind }: Written,
  edited: boolean,
  tokens: (text: string) => number,
): MadeArtifact {
  const mime = mimeOf(physical) === 'application/octet-stream' ? 'text/markdown' : mimeOf(physical)
  const sids = extractSids(text, mime === 'text/html' ? 'html' : 'markdown')
  const digest = {
    artifact_path: logical,
    physical_path: physical,
    mime,
    kind,
    visibility: channel === 'internal' ? ('internal' as const) : ('external' as const),
    channel,
    edited,
    size_bytes: Buffer.byteLength(text),
    text_symbols: text.length,
    tokens: tokens(text),
    ...(sids.length > 0 && { sources_used: [...sids] }),
  }
  if (channel !== 'internal') return { digest, mime, text }
  const note = text.length <= longestNote ? text : `${text.slice(0, longestNote)}\n… the whole note is at ${logical}`
  return { digest, mime, text, note }
}

function rewriteNotice({ rewrite }: Target & { ok: true }) {
  if (!rewrite?.notify) return []
  const { original, normalized } = rewrite
  const message = `${original} is not in this turn's writable space; it was written to ${normalized}.`
  return [{ code: 'protocol_violation.path_rewritten', message, original, normalized, tool_id: 'react.write' }]
}

function extensionNotice(path: string, channel: Written['channel']) {
  if (channel !== 'canvas' || canvasFormats.test(path)) return []
  const message = `The canvas cannot show ${path}. Use .md, .html, .mermaid, .json, .yaml, .txt or .xml, or write it with another tool.`
  return [{ code: 'protocol_violation.write_extension_mismatch', message, path }]
}
