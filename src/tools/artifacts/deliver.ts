import type { Digest, Meta, Notice, Place } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { defined } from '../../core/json.ts'
import type { Scope } from '../../core/scope.ts'
import { eligibleMime } from '../../core/sources/eligible.ts'
import type { IncomingSource } from '../../core/sources/source.ts'
import type { Hosted, Hosting } from '../../ports/hosting.ts'
import type { Call, MadeArtifact, Outcome } from '../tool.ts'
import { type DeclaredFile, declaredBeyond, declaredFiles, withoutDeclaredHandles } from './declared.ts'
import { examine, explain } from './examine.ts'
import { type Payload, payloadOf } from './payload.ts'

/** An artifact whose bytes are safe and, if it is for the user, handed over: only its blocks are still to be written. */
export interface DeliveredArtifact extends Payload {
  readonly digest: Digest
  readonly mime: string
  readonly meta: Meta
}

export interface Delivered extends Omit<Outcome, 'artifacts'> {
  readonly delivered?: readonly DeliveredArtifact[]
}

/** What it takes to keep and to hand over what a tool has made. */
export interface Delivery extends Pick<Call, 'blobs' | 'workspace' | 'timeline'> {
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
const mostBytes = 100 * 1024 * 1024

/**
 * Files that a tool made, examined, kept and hosted: what is a file, external and sound. A file that cannot be hosted is still there;
 * one that is broken is nobody's business but the agent's.
 */
export async function deliver(place: Place, toolId: string, outcome: Outcome, to: Delivery): Promise<Delivered> {
  const { artifacts = [], ...rest } = outcome
  const declared = declaredFiles(outcome.output, place, to.timeline)
  const all: Handled[] = []
  for (const artifact of artifacts) all.push(await deliverOne(artifact, place, toolId, to)) // one at a time: each may be as large as it gets
  for (const file of declared) all.push(await deliverDeclared(file, place, toolId, to))
  return {
    ...rest,
    ...(declared.length > 0 && rest.output !== undefined && { output: withoutDeclaredHandles(rest.output) }),
    notices: [...(outcome.notices ?? []), ...all.flatMap(({ notices }) => notices), ...tooMany(declaredBeyond(outcome.output))],
    sources: [...(outcome.sources ?? []), ...all.flatMap(({ sources }) => sources)],
    delivered: all.flatMap(({ artifact }) => artifact ?? []),
  }
}

const tooMany = (files: number): readonly Notice[] =>
  files === 0
    ? []
    : [
        {
          code: 'delivery_failed.file_hosting',
          message: `${files} more files were declared than are handed over at once. Do not say that they were delivered.`,
        },
      ]

interface Handled {
  readonly artifact?: DeliveredArtifact
  readonly notices: readonly Notice[]
  readonly sources: readonly IncomingSource[]
}

async function deliverOne(made: MadeArtifact, place: Place, toolId: string, to: Delivery): Promise<Handled> {
  const bytes = await bytesOf(made, to)
  const name = made.digest.physical_path ?? made.digest.artifact_path
  const { problem, warning } = made.isPatch ? {} : examine(name, bytes)
  const digest: Digest = defined({ ...made.digest, size_bytes: made.digest.size_bytes ?? bytes?.length, write_warning: warning })
  if (problem !== undefined) {
    const error = { code: 'artifact_invalid', message: explain(problem), where: 'artifact_analysis' }
    const broken: Digest = { ...digest, visibility: 'internal', write_error: problem, status: 'error', error }
    const payload = await payloadOf({ ...made, digest: broken }, bytes, to.blobs)
    const said = { code: 'tool_result_error', message: `${name}: ${explain(problem)}.`, error_code: 'artifact_invalid', path: name }
    return { artifact: assembled(broken, made.mime, payload), notices: to.exec ? [] : [said], sources: [] }
  }
  const payload = await payloadOf({ ...made, digest }, bytes, to.blobs)
  const { hosted, problem: unhosted } =
    bytes !== undefined && isForTheUser(digest) ? await host(digest, contentMime(made), bytes, place, toolId, to) : nothing
  return {
    artifact: assembled(digest, made.mime, payload, hosted ? handlesOf(hosted, payload) : {}, made.visibility),
    notices: unhosted ? [unhosted] : [],
    sources: sourcesOf(digest, made.mime, place, to.eligibleMimes),
  }
}

/** Whole: what the tool gave, else what lies in OUT_DIR. */
async function bytesOf(made: MadeArtifact, to: Delivery): Promise<Uint8Array | undefined> {
  if (made.bytes !== undefined) return made.bytes
  if (made.text !== undefined && !made.isPatch) return Buffer.from(made.text)
  return made.digest.physical_path === undefined ? undefined : readFile(made.digest.physical_path, to)
}

/** A link, a device, a file beyond all measure: as good as not there. */
async function readFile(physical: string, to: Pick<Delivery, 'workspace'>): Promise<Uint8Array | undefined> {
  try {
    return await (await to.workspace()).files.read(physical, { maxBytes: mostBytes })
  } catch (error) {
    if (error instanceof Failure && (error.code === 'file.unsafe' || error.code === 'workspace.missing')) return undefined
    throw error
  }
}

/** A patch is shown as what it is; the file is handed over as what it is. */
const contentMime = ({ isPatch, digest, mime }: MadeArtifact) => (isPatch ? (digest.mime ?? mime) : mime)

const isForTheUser = ({ kind, visibility }: Digest) => kind === 'file' && visibility === 'external'

interface Handover {
  readonly hosted?: Hosted
  readonly problem?: Notice
}

const nothing: Handover = {}

/** Without hosting files are made and kept, and nobody claims that they were handed over. */
async function host(
  digest: Digest,
  mime: string,
  content: Uint8Array,
  place: Place,
  toolId: string,
  { hosting, scope: owner, conversation, onProblem }: Delivery,
): Promise<Handover> {
  const { physical_path: physicalPath, description } = digest
  if (!hosting || physicalPath === undefined) return nothing
  try {
    const file = { owner, conversation, turnId: place.turnId, stage: 'file' as const, physicalPath, mime, ts: place.ts, content }
    return { hosted: await hosting.host(description === undefined ? file : { ...file, description }) }
  } catch (error) {
    onProblem({ where: 'hosting', error })
    return { problem: notHosted(toolId, digest.artifact_path) }
  }
}

const notHosted = (toolId: string, path: string): Notice => ({
  code: toolId.startsWith('react.') ? `${toolId}.hosting_failed` : 'delivery_failed.file_hosting',
  message: `${path} was made but could not be handed over to the user. Do not say that it was delivered; the file can still be used here.`,
  path,
})

/** Handles stand in meta and nowhere else; the bytes they lead to live as long as the block. */
function handlesOf({ key, hosted_uri, rn, blob }: Hosted, payload: Payload): Meta {
  const kept = [payload.blob, ...(payload.meta?.keeps ?? [])].some((each) => each?.sha256 === blob.sha256)
  return { key, hosted_uri, rn, ...(!kept && { keeps: [blob, ...(payload.meta?.keeps ?? [])] }) }
}

function assembled(
  digest: Digest,
  mime: string,
  { meta, ...payload }: Payload,
  handles: Meta = {},
  kept = digest.visibility,
): DeliveredArtifact {
  const { physical_path, kind, channel, edited, size_bytes, text_symbols, line_count, sources_used } = digest
  const about = defined({
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
function sourcesOf(digest: Digest, mime: string, { turnId }: Place, eligibleMimes: readonly string[]): readonly IncomingSource[] {
  const { artifact_path, physical_path, size_bytes } = digest
  if (!isForTheUser(digest) || physical_path === undefined || !eligibleMime(mime, eligibleMimes)) return []
  const title = physical_path.split('/').at(-1) ?? physical_path
  return [defined({ source_type: 'file' as const, title, mime, artifact_path, physical_path, turn_id: turnId, size_bytes })]
}

async function deliverDeclared(file: DeclaredFile, place: Place, toolId: string, to: Delivery): Promise<Handled> {
  if (file.kind === 'hosted') return { artifact: assembled(file.digest, file.mime, {}, file.handles), notices: [], sources: [] }
  const external = file.visibility === 'external'
  if (file.kind === 'refused') return { notices: external ? [notHosted(toolId, file.name)] : [], sources: [] }
  const bytes = await readFile(file.digest.physical_path ?? '', to)
  if (bytes !== undefined) return deliverOne({ digest: file.digest, mime: file.mime, ...asContent(bytes) }, place, toolId, to)
  const missing = await deliverOne({ digest: file.digest, mime: file.mime }, place, toolId, to)
  return external ? { ...missing, notices: [...missing.notices, notHosted(toolId, file.digest.artifact_path)] } : missing
}

const asContent = (bytes: Uint8Array) => ({ bytes })
