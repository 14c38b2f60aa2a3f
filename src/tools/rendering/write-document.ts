import type { Digest, Notice } from '../../core/block/index.ts'
import { cutAt } from '../../core/cut.ts'
import { Failure } from '../../core/failure.ts'
import { normalizeTarget, type Target } from '../../core/path/physical.ts'
import { userKey } from '../../core/scope.ts'
import { redact } from '../../core/secrets.ts'
import { wasMadeByAnotherCall } from '../../core/timeline/artifacts.ts'
import { knownTurns } from '../../core/timeline/turns.ts'
import type { ContentFormat, DocumentKind, DocumentRenderer, PictureOptions, RenderedDocument } from '../../ports/documents.ts'
import { workspaceIfAny } from '../artifacts/earlier-files.ts'
import { extensionOf, mimeOf } from '../mime.ts'
import { failed, succeeded } from '../outcome.ts'
import { rewriteNotice } from '../react/text-artifact.ts'
import type { Call, Outcome } from '../tool.ts'
import { createAssets, missingAssetsNotice, missingSourcesNotice, pullSourceFiles } from './assets.ts'
import { documentSource, markCitations } from './citations.ts'

/** What a tool was asked to write. */
export interface WriteRequest {
  readonly kind: DocumentKind
  readonly path: string
  readonly content: string
  readonly format: ContentFormat
  readonly title?: string | undefined
  readonly listSources: boolean
  readonly landscape?: boolean
  readonly picture?: PictureOptions
}

/**
 * The longest content of each format, in characters. The limit of HTML is higher than that of Markdown, because HTML may contain images and
 * because Markdown takes longer to read.
 */
const maxContentLength: { readonly [F in ContentFormat]: number } = { markdown: 500_000, html: 5_000_000, mermaid: 50_000 }
const maxMessageLength = 2_000
const maxRemarks = 10

/**
 * Makes a document and writes it into the folder of the turn. Files that the content mentions are fetched first. If some are missing, the
 * document is made without them, and notices name them.
 */
export async function writeDocument(request: WriteRequest, renderer: DocumentRenderer, call: Call): Promise<Outcome> {
  const target = normalizeTarget(request.path, { currentTurn: call.origin.turnId, knownTurns: knownTurns(call.timeline) })
  if (!target.ok) return failed(target.code, target.message)
  const problem = checkRequest(request, target.physical)
  if (problem) return problem
  const workspace = await workspaceIfAny(call)
  if (!workspace)
    return failed('workspace_missing', 'This agent has no workspace, so no document can be written. Tell the user so in the answer.')
  const assets = createAssets(workspace, call)
  const { content, rows, missing } = markCitations(request.content, request.format, call.timeline)
  const { signal } = call
  const user = userKey(call.scope)
  try {
    const notices = [
      ...rewriteNotice(target.rewrite, call.toolId, 'it was written to'),
      ...missingSourcesNotice(missing),
      ...(await pullSourceFiles(rows, assets)),
      ...missingAssetsNotice(await assets.pull(await renderer.mentions(content, request.format, { user, signal }))),
    ]
    const { kind, format, title, listSources, landscape, picture } = request
    const document = await renderer.render({
      kind,
      format,
      content,
      sources: rows.map(documentSource),
      listSources,
      now: call.clock.now(),
      user,
      signal,
      readAsset: assets.read,
      ...(title !== undefined && { title }),
      ...(landscape !== undefined && { landscape }),
      ...(picture !== undefined && { picture }),
    })
    // A renderer that returns no bytes wrote no file. The check of the artifact then reports that the file is missing.
    if (document.bytes.length > 0) await workspace.files.write(target.physical, document.bytes)
    const sids = rows.map(({ sid }) => sid).sort((a, b) => a - b)
    return succeeded({
      artifacts: [{ digest: digestOf(target, document, sids, call), mime: mimeOf(target.physical) }],
      notices: [...notices, ...remarksNotice(document.remarks)],
    })
  } catch (error) {
    return failureOf(error, target.physical)
  }
}

type ValidTarget = Target & { readonly ok: true }

function checkRequest({ kind, content, format }: WriteRequest, physical: string): Outcome | undefined {
  if (extensionOf(physical) !== kind)
    return failed('wrong_extension', `This tool writes ${kind.toUpperCase()} files: give a path that ends in .${kind}.`)
  if (content.trim() === '') return failed('content_missing', 'The parameter content is empty: give the content of the document.')
  if (content.length > maxContentLength[format])
    return failed(
      'content_too_large',
      `The content has more than ${maxContentLength[format]} characters. Divide it into several documents.`,
    )
  return undefined
}

function digestOf({ logical, physical }: ValidTarget, { pages }: RenderedDocument, sids: readonly number[], call: Call): Digest {
  return {
    artifact_path: logical,
    physical_path: physical,
    mime: mimeOf(physical),
    kind: 'file',
    visibility: 'external',
    edited: wasMadeByAnotherCall(call.timeline, logical, call.origin.callId),
    ...(pages !== undefined && { pages }),
    ...(sids.length > 0 && { sources_used: [...sids] }),
  }
}

function remarksNotice(remarks: readonly string[]): readonly Notice[] {
  if (remarks.length === 0) return []
  const shown = remarks.slice(0, maxRemarks).map((remark) => redact(cutAt(remark, 300)))
  const more = remarks.length > maxRemarks ? [`There are ${remarks.length - maxRemarks} more remarks.`] : []
  return [{ code: 'tool_call_warning.rendering', message: [...shown, ...more].join(' ') }]
}

/** The outcome for an error of the renderer or of the workspace. Other errors are thrown again. */
function failureOf(error: unknown, physical: string): Outcome {
  if (!(error instanceof Failure)) throw error
  if (error.code === 'file.unsafe')
    return failed('unsafe_path', `${physical} cannot be written (${String(error.details.reason)}). Use another path.`)
  if (error.code !== 'document.unrenderable') throw error
  const { reason, code } = error.details
  const shown = typeof code === 'string' ? code : `render_${String(reason)}`
  return failed(shown, redact(cutAt(error.message, maxMessageLength)))
}
