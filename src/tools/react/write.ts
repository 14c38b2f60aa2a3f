import { z } from 'zod'
import { Failure } from '../../core/failure.ts'
import { normalizeTarget, type Target } from '../../core/path/physical.ts'
import { wasMadeByAnotherCall } from '../../core/timeline/artifacts.ts'
import { knownTurns } from '../../core/timeline/turns.ts'
import { defineTool } from '../define.ts'
import { decodeText, isTextMime } from '../mime.ts'
import { failed, succeeded } from '../outcome.ts'
import { parametersOf } from '../parameters.ts'
import type { Call, MadeArtifact, Outcome } from '../tool.ts'
import { type Audience, channels, kinds, parseAudience, rewriteNotice, textFacts, textMimeOf } from './text-artifact.ts'

const shownParams = z.object({
  path: z.string().describe('where: files/<scope>/<name> for what lasts, outputs/<scope>/<name> for what is only produced'),
  channel: z.enum(channels).default('canvas').describe('who sees it grow; internal is a note to yourself'),
  content: z.unknown().describe('the text, or a JSON value'),
  kind: z.enum(kinds).default('display').describe('shown in place, or handed over as a file'),
})

/**
 * The schema accepts any text as channel and kind, so that the tool itself rejects an unknown value. The error of the tool lists the
 * allowed values.
 */
const acceptedParams = shownParams.extend({
  content: z.unknown().optional(),
  channel: z.string().default('canvas'),
  kind: z.string().default('display'),
})

type ValidTarget = Target & { readonly ok: true }

const canvasFormats = /\.(md|markdown|html?|mermaid|mmd|json|ya?ml|txt|xml)$/i

/** The tool `react.write`: writes a text file of the current turn, or copies a file into it. */
export const createWriteTool = () =>
  defineTool({
    id: 'react.write',
    description: 'Write a text artifact of this turn, or an internal note.',
    params: acceptedParams,
    parameters: parametersOf(shownParams) ?? [],
    order: 'hard',
    strategy: 'exploitation',
    repeatable: true,
    returns: 'the artifact and where it is',
    async run({ path, content, channel, kind }, call) {
      const audience = parseAudience(channel, kind)
      if (!('channel' in audience)) return audience
      const target = normalizeTarget(path, { currentTurn: call.origin.turnId, knownTurns: knownTurns(call.timeline) })
      if (!target.ok) return failed(target.code, target.message)
      const file = contentOf(content, target.physical)
      if (file === undefined) return failed('content_missing', 'react.write needs content: a text or a JSON value.')
      const problem = await writeFile(target, file.bytes, call)
      if (problem) return problem
      const notices = [
        ...rewriteNotice(target.rewrite, 'react.write', 'it was written to'),
        ...extensionNotice(target.physical, audience.channel),
      ]
      return succeeded({ artifacts: [artifactOf(target, file, audience, call)], notices })
    },
  })

interface FileContent {
  readonly bytes: Uint8Array
  readonly mime: string
  /** Undefined when the file is not a text. */
  readonly text: string | undefined
}

/** The file for a parameter `content`. If the parameter was a reference to a file, it contains bytes, which are written unchanged. */
function contentOf(content: unknown, physical: string): FileContent | undefined {
  if (content instanceof Uint8Array) return copyOf(content, physical)
  const text = typeof content === 'string' || content === null ? content : JSON.stringify(content, null, 2)
  return typeof text === 'string' ? { bytes: Buffer.from(text), mime: textMimeOf(physical), text } : undefined
}

function copyOf(bytes: Uint8Array, physical: string): FileContent {
  const mime = textMimeOf(physical)
  if (!isTextMime(mime)) return { bytes, mime, text: undefined }
  const text = decodeText(bytes)
  return { bytes, mime: text === undefined ? 'application/octet-stream' : mime, text }
}

/** Replaces the file atomically and checks its size. Returns a failed outcome, or undefined when the file was written. */
async function writeFile({ physical }: ValidTarget, bytes: Uint8Array, call: Call): Promise<Outcome | undefined> {
  try {
    const { files } = await call.workspace()
    await files.write(physical, bytes)
    const written = await files.stat(physical)
    return written?.size === bytes.length
      ? undefined
      : failed('write_failed', `${physical} is not there as it was written. Write it again.`)
  } catch (error) {
    return writeFailure(physical, error)
  }
}

function writeFailure(physical: string, error: unknown): Outcome {
  if (!(error instanceof Failure)) return failed('write_failed', `${physical} could not be written. Try again, or use another path.`)
  const { code, details } = error
  if (code === 'workspace.missing')
    return failed('workspace_missing', 'This agent has no workspace, so nothing can be written. Tell the user so in the answer.')
  if (code !== 'file.unsafe') return failed('write_failed', `${physical} could not be written. Try again, or use another path.`)
  const reason = typeof details.reason === 'string' ? details.reason : 'unsafe_path'
  return failed('unsafe_path', `${physical} cannot be written (${reason}). Use another path.`, { details: { reason } })
}

function artifactOf({ logical, physical }: ValidTarget, file: FileContent, { channel, kind }: Audience, call: Call): MadeArtifact {
  const { bytes, mime, text } = file
  const digest = {
    artifact_path: logical,
    physical_path: physical,
    mime,
    kind,
    visibility: channel === 'internal' ? ('internal' as const) : ('external' as const),
    channel,
    edited: wasMadeByAnotherCall(call.timeline, logical, call.origin.callId),
    size_bytes: bytes.length,
    ...(text !== undefined && textFacts(text, mime, call)),
  }
  if (text === undefined) return { digest, mime, bytes }
  // If the file has a byte order mark or another charset than UTF-8, the text is not enough to restore it. In this case the bytes are
  // stored.
  const content = Buffer.from(text).equals(bytes) ? { text } : { bytes }
  return { digest, mime, ...content, ...(channel === 'internal' && { note: text }) }
}

function extensionNotice(path: string, channel: Audience['channel']) {
  if (channel !== 'canvas' || canvasFormats.test(path)) return []
  const message = `${path} was written, but the canvas cannot show it. Use .md, .html, .mermaid, .json, .yaml, .txt or .xml, or write it with another tool.`
  return [{ code: 'protocol_violation.write_extension_mismatch', message, path }]
}
