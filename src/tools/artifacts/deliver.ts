import type { BlockOrigin, Digest, Meta, Notice } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { omitUndefined } from '../../core/json.ts'
import type { Scope } from '../../core/scope.ts'
import type { IncomingSource } from '../../core/sources/source.ts'
import { isEligibleMime } from '../../core/sources/source.ts'
import type { Hosting, HostingHandles } from '../../ports/hosting.ts'
import type { Call, MadeArtifact, Outcome } from '../tool.ts'
import { type DeclaredFile, declaredFilesOverLimit, parseDeclaredFiles, stripFileHandles } from './declared.ts'
import { examine, explainProblem } from './examine.ts'
import { type Payload, payloadOf } from './payload.ts'

/** An artifact whose bytes are safe and, if it is for the user, handed over: only its blocks are still to be written. */
export interface DeliveredArtifact extends Payload {
  readonly digest: Digest
  readonly mime: string
  readonly meta: Meta
}

export interface DeliveredOutcome extends Omit<Outcome, 'artifacts'> {
  readonly delivered?: readonly DeliveredArtifact[]
}

/** What it takes to keep and to hand over what a tool has made. */
export interface DeliveryContext extends Pick<Call, 'blobs' | 'workspace' | 'timeline'> {
  readonly hosting: Hosting | undefined
  readonly scope: Scope
  /** Its name inside the scope. */
  readonly conversation: string
  /** Files of these types become sources. */
  readonly eligibleMimes: readonly string[]
  /** Exec tools speak of broken files in their report. */
  readonly exec: boolean
  /** Why something could not be hosted: it may name buckets and folders, so the model is not told. */
  onProblem(problem: { readonly where: string; readonly error: unknown }): void
}

/** More is not read into memory to be checked, kept or handed over. */
const maxFileBytes = 100 * 1024 * 1024

/**
 * Files that a tool made, examined, kept and hosted: what is a file, external and sound. A file that cannot be hosted is still there;
 * one that is broken is nobody's business but the agent's.
 */
export async function deliver(place: BlockOrigin, toolId: string, outcome: Outcome, to: DeliveryContext): Promise<DeliveredOutcome> {
  const { artifacts = [], ...rest } = outcome
  const declared = parseDeclaredFiles(outcome.output, place, to.timeline)
  const all: DeliveryResult[] = []
  for (const artifact of artifacts) all.push(await deliverArtifact(artifact, place, toolId, to)) // one at a time: each may be as large as it gets
  for (const file of declared) all.push(await deliverDeclared(file, place, toolId, to))
  return {
    ...rest,
    ...(declared.length > 0 && rest.output !== undefined && { output: stripFileHandles(rest.output) }),
    notices: [
      ...(outcome.notices ?? []),
      ...all.flatMap(({ notices }) => notices),
      ...tooManyFilesNotice(declaredFilesOverLimit(outcome.output)),
    ],
    sources: [...(outcome.sources ?? []), ...all.flatMap(({ sources }) => sources)],
    delivered: all.flatMap(({ artifact }) => artifact ?? []),
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

async function deliverArtifact(made: MadeArtifact, place: BlockOrigin, toolId: string, to: DeliveryContext): Promise<DeliveryResult> {
  const bytes = await artifactBytes(made, to)
  const name = made.digest.physical_path ?? made.digest.artifact_path
  const { problem, warning } = made.isPatch ? {} : examine(name, bytes)
  const digest: Digest = omitUndefined({ ...made.digest, size_bytes: made.digest.size_bytes ?? bytes?.length, write_warning: warning })
  if (problem !== undefined) {
    const error = { code: 'artifact_invalid', message: explainProblem(problem), where: 'artifact_analysis' }
    const broken: Digest = { ...digest, visibility: 'internal', write_error: problem, status: 'error', error }
    const payload = await payloadOf({ ...made, digest: broken }, bytes, to.blobs)
    const said = { code: 'tool_result_error', message: `${name}: ${explainProblem(problem)}.`, error_code: 'artifact_invalid', path: name }
    return { artifact: assembleArtifact(broken, made.mime, payload), notices: to.exec ? [] : [said], sources: [] }
  }
  const payload = await payloadOf({ ...made, digest }, bytes, to.blobs)
  const { hosted, problem: unhosted } =
    bytes !== undefined && isForTheUser(digest) ? await hostFile(digest, contentMime(made), bytes, place, toolId, to) : noHosting
  return {
    artifact: assembleArtifact(digest, made.mime, payload, hosted ? hostingMeta(hosted, payload) : {}, made.visibility),
    notices: unhosted ? [unhosted] : [],
    sources: fileSources(digest, made.mime, place, to.eligibleMimes),
  }
}

/** Whole: what the tool gave, else what lies in OUT_DIR. */
async function artifactBytes(made: MadeArtifact, to: DeliveryContext): Promise<Uint8Array | undefined> {
  if (made.bytes !== undefined) return made.bytes
  if (made.text !== undefined && !made.isPatch) return Buffer.from(made.text)
  return made.digest.physical_path === undefined ? undefined : readWorkspaceFile(made.digest.physical_path, to)
}

/** A link, a device, a file beyond all measure: as good as not there. */
async function readWorkspaceFile(physical: string, to: Pick<DeliveryContext, 'workspace'>): Promise<Uint8Array | undefined> {
  try {
    return await (await to.workspace()).files.read(physical, { maxBytes: maxFileBytes })
  } catch (error) {
    if (error instanceof Failure && (error.code === 'file.unsafe' || error.code === 'workspace.missing')) return undefined
    throw error
  }
}

/** A patch is shown as what it is; the file is handed over as what it is. */
const contentMime = ({ isPatch, digest, mime }: MadeArtifact) => (isPatch ? (digest.mime ?? mime) : mime)

const isForTheUser = ({ kind, visibility }: Digest) => kind === 'file' && visibility === 'external'

interface HostingResult {
  readonly hosted?: HostingHandles
  readonly problem?: Notice
}

const noHosting: HostingResult = {}

/** Without hosting files are made and kept, and nobody claims that they were handed over. */
async function hostFile(
  digest: Digest,
  mime: string,
  content: Uint8Array,
  place: BlockOrigin,
  toolId: string,
  { hosting, scope: owner, conversation, onProblem }: DeliveryContext,
): Promise<HostingResult> {
  const { physical_path: physicalPath, description } = digest
  if (!hosting || physicalPath === undefined) return noHosting
  try {
    const file = { owner, conversation, turnId: place.turnId, stage: 'file' as const, physicalPath, mime, ts: place.ts, content }
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

/** Handles stand in meta and nowhere else; the bytes they lead to live as long as the block. */
function hostingMeta({ key, hosted_uri, rn, blob }: HostingHandles, payload: Payload): Meta {
  const kept = [payload.blob, ...(payload.meta?.keeps ?? [])].some((each) => each?.sha256 === blob.sha256)
  return { key, hosted_uri, rn, ...(!kept && { keeps: [blob, ...(payload.meta?.keeps ?? [])] }) }
}

function assembleArtifact(
  digest: Digest,
  mime: string,
  { meta, ...payload }: Payload,
  handles: Meta = {},
  kept = digest.visibility,
): DeliveredArtifact {
  const { physical_path, kind, channel, edited, size_bytes, text_symbols, line_count, sources_used } = digest
  const about = omitUndefined({
    physical_path,
    visibility: kept ?? 'external',
    kind,
    channel,
    edited,
    size_bytes,
    text_symbols,
    line_count,
    sources_used,
  })
  return { digest, mime, ...payload, meta: { ...about, ...meta, ...handles } as Meta }
}

/** A file that was made for the user, an image unless a setting widens it, can be shown and embedded by its number, like any source. */
function fileSources(digest: Digest, mime: string, { turnId }: BlockOrigin, eligibleMimes: readonly string[]): readonly IncomingSource[] {
  const { artifact_path, physical_path, size_bytes } = digest
  if (!isForTheUser(digest) || physical_path === undefined || !isEligibleMime(mime, eligibleMimes)) return []
  const title = physical_path.split('/').at(-1) ?? physical_path
  return [omitUndefined({ source_type: 'file' as const, title, mime, artifact_path, physical_path, turn_id: turnId, size_bytes })]
}

async function deliverDeclared(file: DeclaredFile, place: BlockOrigin, toolId: string, to: DeliveryContext): Promise<DeliveryResult> {
  if (file.kind === 'hosted') return { artifact: assembleArtifact(file.digest, file.mime, {}, file.handles), notices: [], sources: [] }
  const external = file.visibility === 'external'
  if (file.kind === 'refused') return { notices: external ? [notHostedNotice(toolId, file.name)] : [], sources: [] }
  const bytes = await readWorkspaceFile(file.digest.physical_path ?? '', to)
  if (bytes !== undefined) return deliverArtifact({ digest: file.digest, mime: file.mime, ...asContent(bytes) }, place, toolId, to)
  const missing = await deliverArtifact({ digest: file.digest, mime: file.mime }, place, toolId, to)
  return external ? { ...missing, notices: [...missing.notices, notHostedNotice(toolId, file.digest.artifact_path)] } : missing
}

const asContent = (bytes: Uint8Array) => ({ bytes })
