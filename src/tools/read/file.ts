import { type BlobRef, type Block, digestText, readDigest } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { type FilePath, formatPath } from '../../core/path/logical.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { blocksAtPath, digestBlocksOf } from '../../core/timeline/timeline.ts'
import type { Workspace } from '../../ports/workspace.ts'
import { fetchBlob, historyOf, type RecordedContent, recordedContents } from '../artifacts/history.ts'
import { decodeText, isTextMime, mimeOf } from '../mime.ts'
import type { Call } from '../tool.ts'
import { missingContent, type PathContent, resolveInHistory } from './find.ts'

const maxFileBytes = 100 * 1024 * 1024

/**
 * A file: of this turn as it lies in the workspace, for a program may have changed it since; of an earlier one as it was recorded, and
 * then it is brought into the workspace, too. What nobody has recorded may still be there.
 */
export async function findFile(file: FilePath, call: Call): Promise<PathContent> {
  const path = formatPath(file)
  const own = file.turn === call.origin.turnId
  const local = own && file.area !== 'attachments' ? await readLocal(path, call) : undefined
  const visible = blocksAtPath(call.timeline, path)
  const blocks = recordedContents(visible).next().done ? await recordedBlocks(path, call, visible) : visible
  const about = describeFile(path, blocks, call)
  if (local) return fromBytes(about, local, call)
  for (const recorded of recordedContents(blocks)) {
    const found = await fromRecord(about, recorded, call)
    if (found) return found
  }
  const hydrated = await hydrate(file, call)
  if (hydrated) return fromBytes(about, hydrated, call)
  return blocks.length > 0 || about.digest !== undefined ? { ...about, kind: 'anchor', size: 0 } : notFound(path, file.turn, call)
}

interface AboutFile {
  readonly path: string
  readonly mime: string
  readonly digest?: string
}

/** As the blocks tell it, the newest first; of an unrecorded file only what its name says. */
function describeFile(path: string, blocks: readonly Block[], { timeline }: Call): AboutFile {
  const told = blocks.findLast(({ meta }) => typeof meta?.digest === 'string')?.meta?.digest
  const digest = told ?? [...blocks, ...digestBlocksOf(timeline, path)].findLast((block) => readDigest(block)?.artifact_path === path)?.text
  const mime = digestMime(digest) ?? blocks.findLast(hasOwnMime)?.mime
  return { path, mime: mime ?? mimeOf(path), ...(digest !== undefined && { digest }) }
}

/** Others are text about it: what is told of it, a note, a part of it. */
const hasOwnMime = ({ type, mime, meta }: Block) =>
  mime !== undefined && (type === 'react.tool.result' || type === 'user.attachment') && meta?.partial !== true

function digestMime(digest: string | undefined): string | undefined {
  const told = parseJson(digest)
  return isObject(told) && typeof told.mime === 'string' && told.mime.includes('/') ? told.mime : undefined
}

async function recordedBlocks(path: string, call: Call, visible: readonly Block[]): Promise<readonly Block[]> {
  const older = await call.records.byPath(path)
  return older.length > 0 ? older : visible
}

async function fromRecord(about: AboutFile, recorded: RecordedContent, call: Call): Promise<PathContent | undefined> {
  if (recorded.kind === 'text')
    return { ...withDigest(about, Buffer.byteLength(recorded.text)), kind: 'text', text: recorded.text, capped: true }
  if (recorded.kind === 'base64') return fromBytes(about, Buffer.from(recorded.base64, 'base64'), call)
  const { blob } = recorded
  if (isVisual(about.mime)) return { ...withDigest(about, blob.size), kind: 'binary', blob }
  if (!isTextMime(about.mime) || blob.size > maxFileBytes) return { ...withDigest(about, blob.size), kind: 'anchor', size: blob.size, blob }
  const bytes = await fetchBlob(blob.sha256, call.blobs)
  return bytes && fromBytes(about, bytes, call)
}

async function fromBytes(about: AboutFile, bytes: Uint8Array, { blobs }: Call): Promise<PathContent> {
  const described = withDigest(about, bytes.length)
  const readable = isTextMime(about.mime) || about.mime === 'application/octet-stream' ? decodeText(bytes) : undefined
  if (readable !== undefined && !readable.includes('\0')) return { ...described, kind: 'text', text: readable, capped: true }
  const blob: BlobRef = await blobs.put(bytes)
  return isVisual(about.mime) ? { ...described, kind: 'binary', blob } : { ...described, kind: 'anchor', size: bytes.length, blob }
}

const isVisual = (mime: string) => mime === 'application/pdf' || /^image\/(?:png|jpeg|gif|webp)$/.test(mime)

/** The digest that was entered, word for word; for what nobody described, what can be told of it. */
function withDigest(about: AboutFile, size: number): AboutFile & { readonly digest: string } {
  if (about.digest !== undefined) return { ...about, digest: about.digest }
  const physical_path = toPhysical(about.path)
  return { ...about, digest: digestText({ artifact_path: about.path, physical_path, mime: about.mime, kind: 'file', size_bytes: size }) }
}

async function readLocal(path: string, call: Call): Promise<Uint8Array | undefined> {
  const workspace = await workspaceIfAny(call)
  const physical = toPhysical(path)
  return workspace && physical !== undefined ? readSafely(workspace, physical) : undefined
}

/** Best effort: a file that cannot be brought here is read from its record. */
async function hydrate({ turn, area, rel }: FilePath, call: Call): Promise<Uint8Array | undefined> {
  const workspace = await workspaceIfAny(call)
  if (!workspace) return undefined
  if (turn !== call.origin.turnId) await workspace.hydrate(turn, [{ area, rel }], historyOf(call))
  return readSafely(workspace, `${turn}/${area}/${rel}`)
}

/** Brings an earlier turn's file into the workspace, so that what is read can also be worked on. */
export async function materialize(file: FilePath, call: Call): Promise<void> {
  const workspace = file.turn === call.origin.turnId ? undefined : await workspaceIfAny(call)
  await workspace?.hydrate(file.turn, [{ area: file.area, rel: file.rel }], historyOf(call))
}

async function workspaceIfAny(call: Call): Promise<Workspace | undefined> {
  try {
    return await call.workspace()
  } catch (error) {
    if (error instanceof Failure && error.code === 'workspace.missing') return undefined
    throw error
  }
}

/** A link or a device is never opened: for a reader nothing is there. */
async function readSafely({ files }: Workspace, physical: string): Promise<Uint8Array | undefined> {
  try {
    return await files.read(physical, { maxBytes: maxFileBytes })
  } catch (error) {
    if (error instanceof Failure && error.code === 'file.unsafe') return undefined
    throw error
  }
}

async function notFound(path: string, turn: string, call: Call): Promise<PathContent> {
  const resolved = await resolveInHistory(path, call)
  if (resolved.status === 'artifact')
    return { kind: 'anchor', path, mime: mimeOf(path), size: 0, digest: digestText({ ...resolved.artifact.metadata, artifact_path: path }) }
  return (await call.records.byTurn(turn)).length === 0 ? missingContent(path, 'turn_log_missing') : missingContent(path)
}
