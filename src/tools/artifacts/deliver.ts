import type { BlockOrigin, Digest, Meta, Notice } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { omitUndefined } from '../../core/json.ts'
import { caps } from '../../core/render/caps.ts'
import { oneLine } from '../../core/render/text.ts'
import type { Scope } from '../../core/scope.ts'
import { type IncomingSource, isEligibleMime } from '../../core/sources/source.ts'
import type { Hosting, HostingHandles } from '../../ports/hosting.ts'
import { decodeText, isTextMime } from '../mime.ts'
import { type PoolNumbers, renumberText } from '../source-numbers.ts'
import type { Call, MadeArtifact, Outcome } from '../tool.ts'
import { type DeclaredFile, declaredFilesOverLimit, parseDeclaredFiles, stripFileHandles } from './declared.ts'
import { examine, explainProblem } from './examine.ts'
import { type Payload, payloadOf } from './payload.ts'

/** An artifact whose bytes are stored. If it is for the user, it is also hosted. The blocks of the artifact are made later. */
export interface DeliveredArtifact extends Payload {
  readonly digest: Digest
  readonly mime: string
  readonly meta: Meta
}

/** An outcome whose artifacts are stored and hosted. */
export interface DeliveredOutcome extends Omit<Outcome, 'artifacts'> {
  readonly delivered?: readonly DeliveredArtifact[]
}

/** The ports and settings that `deliver` needs. */
export interface DeliveryContext extends Pick<Call, 'blobs' | 'workspace' | 'timeline'> {
  readonly hosting: Hosting | undefined
  readonly scope: Scope
  /** The id of the conversation within its scope. */
  readonly conversationId: string
  /** Files of these media types become sources. */
  readonly eligibleMimes: readonly string[]
  /** The SIDs of the sources that the tool returned. Undefined when the tool returned no sources. */
  readonly numbers?: PoolNumbers | undefined
  /** True for an exec tool. An exec tool reports invalid files in its own output, so `deliver` adds no notice about them. */
  readonly exec: boolean
  /** Reports hosting errors to the operator. The model does not read them, because they may contain names of buckets and folders. */
  onProblem(problem: { readonly where: string; readonly error: unknown }): void
}

/** A file of the workspace with more bytes is treated like a file that does not exist. */
const maxFileBytes = 100 * 1024 * 1024

/**
 * Checks and stores the files that a tool made, and hosts the external ones. If hosting fails, the agent can still use the file, and the
 * model gets a notice. A file that fails the check, such as an empty file, is stored as internal, and its digest has the status `error`.
 */
export async function deliver(origin: BlockOrigin, toolId: string, outcome: Outcome, context: DeliveryContext): Promise<DeliveredOutcome> {
  const { artifacts = [], ...rest } = outcome
  const declared = parseDeclaredFiles(outcome.output, origin, context.timeline)
  const results: DeliveryResult[] = []
  // Files are delivered one after the other, because each may have 100 MiB.
  for (const artifact of artifacts) results.push(await deliverArtifact(artifact, origin, toolId, context))
  for (const file of declared) results.push(await deliverDeclared(file, origin, toolId, context))
  return {
    ...rest,
    ...(declared.length > 0 && rest.output !== undefined && { output: stripFileHandles(rest.output) }),
    notices: [
      ...(outcome.notices ?? []),
      ...results.flatMap(({ notices }) => notices),
      ...tooManyFilesNotice(declaredFilesOverLimit(outcome.output)),
    ],
    sources: [...(outcome.sources ?? []), ...results.flatMap(({ sources }) => sources)],
    delivered: results.flatMap(({ artifact }) => artifact ?? []),
  }
}

const tooManyFilesNotice = (files: number): readonly Notice[] =>
  files === 0
    ? []
    : [
        {
          code: 'delivery_failed.file_hosting',
          message: `${files} more files were declared than are handed over at once. Do not say that they were delivered.`,
        },
      ]

interface DeliveryResult {
  readonly artifact?: DeliveredArtifact
  readonly notices: readonly Notice[]
  readonly sources: readonly IncomingSource[]
}

async function deliverArtifact(
  returned: MadeArtifact,
  origin: BlockOrigin,
  toolId: string,
  context: DeliveryContext,
): Promise<DeliveryResult> {
  const { made, bytes } = await renumberArtifact(returned, context)
  const name = made.digest.physical_path ?? made.digest.artifact_path
  const { problem, warning } = made.isPatch ? {} : examine(name, bytes)
  const digest: Digest = omitUndefined({ ...made.digest, size_bytes: made.digest.size_bytes ?? bytes?.length, write_warning: warning })
  if (problem !== undefined) {
    const error = { code: 'artifact_invalid', message: explainProblem(problem), where: 'artifact_analysis' }
    const broken: Digest = { ...digest, visibility: 'internal', write_error: problem, status: 'error', error }
    const payload = await payloadOf({ ...made, digest: broken }, bytes, context.blobs)
    const notice = {
      code: 'tool_result_error',
      message: `${name}: ${explainProblem(problem)}.`,
      error_code: 'artifact_invalid',
      path: name,
    }
    return { artifact: assembleArtifact(broken, made.mime, payload), notices: context.exec ? [] : [notice], sources: [] }
  }
  const payload = await payloadOf({ ...made, digest }, bytes, context.blobs)
  const mime = contentMime(made)
  if (!isForTheUser(digest))
    return { artifact: assembleArtifact(digest, made.mime, payload, {}, made.visibility), notices: [], sources: [] }
  const { hosted, problem: unhosted } = bytes === undefined ? noHosting : await hostFile(digest, mime, bytes, origin, toolId, context)
  const meta: Meta = { ...(hosted && hostingMeta(hosted, payload)), ...(payload.blob && mime === pdfMime && { attach_to_model: true }) }
  return {
    artifact: assembleArtifact(hosted ? digest : { ...digest, handed_over: false }, made.mime, payload, meta, made.visibility),
    notices: unhosted ? [unhosted] : [],
    sources: isEligibleMime(mime, context.eligibleMimes) ? fileSources(digest, mime, snippetOf(made, payload, bytes), origin) : [],
  }
}

/**
 * The media type of PDF files. An external PDF is sent to the model, because the model must know how the PDF looks to the user. An internal
 * PDF is not sent.
 */
const pdfMime = 'application/pdf'

/**
 * The beginning of the text of a file, for the row of the file in the pool. If the artifact is a patch, its `text` is a diff. In this case
 * the bytes of the patched file are used instead.
 */
function snippetOf(made: MadeArtifact, payload: Payload, bytes: Uint8Array | undefined): string | undefined {
  const patched = made.isPatch && bytes !== undefined && isTextMime(contentMime(made)) ? decodeText(bytes) : undefined
  const text = oneLine((made.isPatch ? patched : payload.text) ?? '', caps.sourceSnippet)
  return text === '' ? undefined : text
}

/** The complete content of an artifact. If the tool returned neither bytes nor text, the file is read from the workspace. */
async function artifactBytes(made: MadeArtifact, context: DeliveryContext): Promise<Uint8Array | undefined> {
  if (made.bytes !== undefined) return made.bytes
  if (made.blob !== undefined) return context.blobs.get(made.blob.sha256)
  if (made.text !== undefined && !made.isPatch) return Buffer.from(made.text)
  return made.digest.physical_path === undefined ? undefined : readWorkspaceFile(made.digest.physical_path, context)
}

/**
 * A tool numbers its sources itself and cites them by these numbers. This function replaces the numbers by SIDs in all citations of an
 * artifact. It also changes the file in the workspace, because the agent may read it later. If the tool returned no sources, nothing is
 * changed.
 */
async function renumberArtifact(returned: MadeArtifact, context: DeliveryContext) {
  const bytes = await artifactBytes(returned, context)
  const { numbers } = context
  if (!numbers || returned.isPatch) return { made: returned, bytes }
  const made = returned.text === undefined ? returned : { ...returned, text: renumberText(returned.text, numbers) }
  const text = bytes && isTextMime(made.mime) ? decodeText(bytes) : undefined
  const renumbered = text === undefined ? undefined : renumberText(text, numbers)
  if (renumbered === undefined || renumbered === text) return { made, bytes }
  const content = Buffer.from(renumbered)
  const { physical_path, size_bytes } = made.digest
  if (physical_path !== undefined && (await readWorkspaceFile(physical_path, context)) !== undefined) {
    await (await context.workspace()).files.write(physical_path, content)
  }
  const digest = size_bytes === undefined ? made.digest : { ...made.digest, size_bytes: content.length }
  return { made: { ...made, digest, ...(made.bytes && { bytes: content }) }, bytes: content }
}

/** The bytes of a file in the workspace. Undefined when it is missing, a link, a device or too large. */
async function readWorkspaceFile(physical: string, context: Pick<DeliveryContext, 'workspace'>): Promise<Uint8Array | undefined> {
  try {
    return await (await context.workspace()).files.read(physical, { maxBytes: maxFileBytes })
  } catch (error) {
    if (error instanceof Failure && (error.code === 'file.unsafe' || error.code === 'workspace.missing')) return undefined
    throw error
  }
}

/** The media type of the hosted file. For a patch, `mime` is the type of the diff, so the type in the digest is used. */
const contentMime = ({ isPatch, digest, mime }: MadeArtifact) => (isPatch ? (digest.mime ?? mime) : mime)

const isForTheUser = ({ kind, visibility }: Digest) => kind === 'file' && visibility === 'external'

interface HostingResult {
  readonly hosted?: HostingHandles
  readonly problem?: Notice
}

const noHosting: HostingResult = {}

/** Hosts a file for the user. If the agent has no hosting, returns no handles and no problem. */
async function hostFile(
  digest: Digest,
  mime: string,
  content: Uint8Array,
  origin: BlockOrigin,
  toolId: string,
  { hosting, scope: owner, conversationId, onProblem }: DeliveryContext,
): Promise<HostingResult> {
  const { physical_path: physicalPath, description } = digest
  if (!hosting || physicalPath === undefined) return noHosting
  try {
    const file = { owner, conversationId, turnId: origin.turnId, stage: 'file' as const, physicalPath, mime, ts: origin.ts, content }
    return { hosted: await hosting.host(description === undefined ? file : { ...file, description }) }
  } catch (error) {
    onProblem({ where: 'hosting', error })
    return { problem: notHostedNotice(toolId, digest.artifact_path) }
  }
}

const notHostedNotice = (toolId: string, path: string): Notice => ({
  code: toolId.startsWith('react.') ? `${toolId}.hosting_failed` : 'delivery_failed.file_hosting',
  message: `${path} was made but could not be handed over to the user. Do not say that it was delivered; the file can still be used here.`,
  path,
})

/**
 * The `meta` of a hosted file. Only `meta` contains the hosting fields. If the block does not refer to the hosted blob already, `keeps`
 * refers to it. The store keeps this blob as long as the block.
 */
function hostingMeta({ key, hosted_uri, rn, blob }: HostingHandles, payload: Payload): Meta {
  const isKept = [payload.blob, ...(payload.meta?.keeps ?? [])].some((each) => each?.sha256 === blob.sha256)
  return { key, hosted_uri, rn, ...(!isKept && { keeps: [blob, ...(payload.meta?.keeps ?? [])] }) }
}

function assembleArtifact(
  digest: Digest,
  mime: string,
  { meta, ...payload }: Payload,
  handles: Meta = {},
  visibility = digest.visibility,
): DeliveredArtifact {
  const { physical_path, kind, channel, edited, size_bytes, text_symbols, line_count, sources_used } = digest
  const facts = omitUndefined({
    physical_path,
    visibility: visibility ?? 'external',
    kind,
    channel,
    edited,
    size_bytes,
    text_symbols,
    line_count,
    sources_used,
  })
  return { digest, mime, ...payload, meta: { ...facts, ...meta, ...handles } as Meta }
}

/** Makes a source from an external file. An answer can then embed the file by its SID, as in `[[S:3]]`. */
function fileSources(
  { artifact_path, physical_path, size_bytes }: Digest,
  mime: string,
  text: string | undefined,
  { turnId }: BlockOrigin,
): readonly IncomingSource[] {
  if (physical_path === undefined) return []
  const title = physical_path.split('/').at(-1) ?? physical_path
  return [omitUndefined({ source_type: 'file' as const, title, mime, artifact_path, physical_path, turn_id: turnId, size_bytes, text })]
}

async function deliverDeclared(file: DeclaredFile, origin: BlockOrigin, toolId: string, context: DeliveryContext): Promise<DeliveryResult> {
  if (file.kind === 'hosted') return { artifact: assembleArtifact(file.digest, file.mime, {}, file.handles), notices: [], sources: [] }
  const external = file.visibility === 'external'
  if (file.kind === 'refused') return { notices: external ? [notHostedNotice(toolId, file.name)] : [], sources: [] }
  const bytes = await readWorkspaceFile(file.digest.physical_path ?? '', context)
  if (bytes !== undefined) return deliverArtifact({ digest: file.digest, mime: file.mime, bytes }, origin, toolId, context)
  const missing = await deliverArtifact({ digest: file.digest, mime: file.mime }, origin, toolId, context)
  return external ? { ...missing, notices: [...missing.notices, notHostedNotice(toolId, file.digest.artifact_path)] } : missing
}
