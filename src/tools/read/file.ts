import { createHash } from 'node:crypto'
import { type BlobRef, type Block, digestText, type Meta, readDigest } from '../../core/block/index.ts'
import { isObject, omitUndefined, parseJson } from '../../core/json.ts'
import { type FilePath, formatPath } from '../../core/path/logical.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { blocksAtPath, digestBlocksOf } from '../../core/timeline/timeline.ts'
import { isAbsent, type LeftFile, readLeftFile, readSafely, workspaceIfAny } from '../artifacts/earlier-files.ts'
import { fetchBlob, historyOf, type RecordedContent, recordedContents } from '../artifacts/history.ts'
import { decodeText, isTextMime, isVisualMime, mimeOf } from '../mime.ts'
import type { Call } from '../tool.ts'
import { missingContent, type PathContent, type PresentContent, resolveInHistory } from './find.ts'

const maxFileBytes = 100 * 1024 * 1024

/**
 * The content of a file. A file of the current turn is read from the workspace, because a program may have changed or deleted it. A file of
 * an earlier turn is read from the version that the earlier turn published. If that turn has no version, the file is read from the journal.
 */
export async function findFile(file: FilePath, call: Call): Promise<PathContent> {
  const path = formatPath(file)
  const isCurrent = file.turn === call.origin.turnId
  const left = isCurrent && file.area !== 'attachments' ? await readLocal(file, path, call) : await readLeftFile(file, call)
  if (left === 'unavailable') return missingContent(path, 'workspace_version_unavailable')
  if (left === 'missing') return missingContent(path)
  const visible = blocksAtPath(call.timeline, path)
  const blocks = recordedContents(visible).next().done ? await recordedBlocks(path, call, visible) : visible
  const info = describeFile(path, blocks, call)
  if (left) return withHosting(await fromBytes(withSize(info, left.length), left, call), left, blocks)
  for (const recorded of recordedContents(blocks)) {
    const content = await fromRecord(info, recorded, call)
    if (content) return { ...content, ...hostingMeta(recorded.block) }
  }
  const hydrated = await hydrate(file, call)
  if (hydrated) return withHosting(await fromBytes(info, hydrated, call), hydrated, blocks)
  return blocks.length > 0 || info.digest !== undefined ? { ...info, kind: 'opaque', size: 0 } : notFound(path, file.turn, call)
}

/**
 * Removes the digest if the file has another size than the digest says. In this case a program has changed the file after the digest was
 * made.
 */
function withSize({ digest, ...info }: FileInfo, size: number): FileInfo {
  const parsed = parseJson(digest)
  const isStale = isObject(parsed) && typeof parsed.size_bytes === 'number' && parsed.size_bytes !== size
  return digest === undefined || isStale ? info : { ...info, digest }
}

interface FileInfo {
  readonly path: string
  readonly mime: string
  readonly digest?: string
}

/**
 * The media type and digest of a file, from the newest block that has them. If there is no such block, the type is derived from the file
 * name.
 */
function describeFile(path: string, blocks: readonly Block[], { timeline }: Call): FileInfo {
  const metaDigest = blocks.findLast(({ meta }) => typeof meta?.digest === 'string')?.meta?.digest
  const digest =
    metaDigest ?? [...blocks, ...digestBlocksOf(timeline, path)].findLast((block) => readDigest(block)?.artifact_path === path)?.text
  const mime = digestMime(digest) ?? blocks.findLast(hasMimeOfFile)?.mime
  return { path, mime: mime ?? mimeOf(path), ...(digest !== undefined && { digest }) }
}

/** Whether a block has the media type of its file. Notes, digests and previews have the media type of their own text instead. */
const hasMimeOfFile = ({ type, mime, meta }: Block) =>
  mime !== undefined && (type === 'react.tool.result' || type === 'user.attachment') && meta?.partial !== true

function digestMime(digest: string | undefined): string | undefined {
  const parsed = parseJson(digest)
  return isObject(parsed) && typeof parsed.mime === 'string' && parsed.mime.includes('/') ? parsed.mime : undefined
}

async function recordedBlocks(path: string, call: Call, visible: readonly Block[]): Promise<readonly Block[]> {
  const older = await call.records.byPath(path)
  return older.length > 0 ? older : visible
}

async function fromRecord(info: FileInfo, recorded: RecordedContent, call: Call): Promise<PresentContent | undefined> {
  if (recorded.kind === 'text') return { ...withDigest(info, Buffer.byteLength(recorded.text)), kind: 'text', text: recorded.text }
  if (recorded.kind === 'base64') return fromBytes(info, Buffer.from(recorded.base64, 'base64'), call)
  const { blob } = recorded
  if (isVisualMime(info.mime)) return { ...withDigest(info, blob.size), kind: 'binary', blob }
  if (!isTextMime(info.mime) || blob.size > maxFileBytes) return { ...withDigest(info, blob.size), kind: 'opaque', size: blob.size, blob }
  const bytes = await fetchBlob(blob.sha256, call.blobs)
  return bytes && fromBytes(info, bytes, call)
}

async function fromBytes(info: FileInfo, bytes: Uint8Array, { blobs }: Call): Promise<PresentContent> {
  const described = withDigest(info, bytes.length)
  const text = isTextMime(info.mime) || info.mime === 'application/octet-stream' ? decodeText(bytes) : undefined
  if (text !== undefined && !text.includes('\0')) return { ...described, kind: 'text', text }
  const blob: BlobRef = await blobs.put(bytes)
  return isVisualMime(info.mime) ? { ...described, kind: 'binary', blob } : { ...described, kind: 'opaque', size: bytes.length, blob }
}

/** Adds a new digest if the file has none. */
function withDigest(info: FileInfo, size: number): FileInfo & { readonly digest: string } {
  if (info.digest !== undefined) return { ...info, digest: info.digest }
  const physical_path = toPhysical(info.path)
  return { ...info, digest: digestText({ artifact_path: info.path, physical_path, mime: info.mime, kind: 'file', size_bytes: size }) }
}

/**
 * Adds the hosting fields if exactly these bytes are hosted. A block with hosting fields refers to the hosted blob, so the hash of the
 * bytes is compared with the hash of this blob.
 */
function withHosting(content: PresentContent, bytes: Uint8Array, blocks: readonly Block[]): PresentContent {
  const hosted = blocks.filter(isHosted)
  if (hosted.length === 0) return content
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const block = hosted.findLast((each) => blobsOf(each).some((blob) => blob.sha256 === sha256))
  return block ? { ...content, ...hostingMeta(block) } : content
}

const isHosted = ({ meta }: Block) => meta?.hosted_uri !== undefined || meta?.rn !== undefined
const blobsOf = ({ blob, meta }: Block): readonly BlobRef[] => [...(meta?.keeps ?? []), ...(blob ? [blob] : [])]

function hostingMeta(block: Block): { readonly hosting?: Meta } {
  const { hosted_uri, rn, key } = block.meta ?? {}
  return isHosted(block) ? { hosting: omitUndefined({ hosted_uri, rn, key, keeps: blobsOf(block) }) } : {}
}

/**
 * The bytes of a file of the current turn. The result is `missing` when a program has deleted the file from `files/`. It is undefined when
 * the agent has no workspace, or when the file is too large or not safe to open. In these cases the caller reads the journal instead.
 */
async function readLocal({ area }: FilePath, path: string, call: Call): Promise<LeftFile | undefined> {
  const workspace = await workspaceIfAny(call)
  const physical = toPhysical(path)
  if (!workspace || physical === undefined) return undefined
  const bytes = await readSafely(workspace, physical)
  if (bytes || area !== 'files') return bytes
  return (await call.records.byPath(path)).length > 0 && (await isAbsent(workspace, physical)) ? 'missing' : undefined
}

/**
 * The bytes of a file in the workspace. A file of an earlier turn is copied into the workspace first. Undefined when there is no workspace
 * or no such file.
 */
async function hydrate({ turn, area, rel }: FilePath, call: Call): Promise<Uint8Array | undefined> {
  const workspace = await workspaceIfAny(call)
  if (!workspace) return undefined
  if (turn !== call.origin.turnId) await workspace.hydrate(turn, [{ area, rel }], historyOf(call))
  return readSafely(workspace, `${turn}/${area}/${rel}`)
}

/** Copies a file of an earlier turn into the workspace, so that programs can open the file that the model has read. */
export async function materialize(file: FilePath, call: Call): Promise<void> {
  const workspace = file.turn === call.origin.turnId ? undefined : await workspaceIfAny(call)
  await workspace?.hydrate(file.turn, [{ area: file.area, rel: file.rel }], historyOf(call))
}

async function notFound(path: string, turn: string, call: Call): Promise<PathContent> {
  const resolution = await resolveInHistory(path, call)
  if (resolution.status === 'artifact')
    return {
      kind: 'opaque',
      path,
      mime: mimeOf(path),
      size: 0,
      digest: digestText({ ...resolution.artifact.metadata, artifact_path: path }),
    }
  return (await call.records.byTurn(turn)).length === 0 ? missingContent(path, 'turn_log_missing') : missingContent(path)
}
