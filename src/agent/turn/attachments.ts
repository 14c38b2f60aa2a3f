import { type Attachment, attachmentBlocks, type BlobRef, type Draft } from '../../core/block/index.ts'
import { isObject } from '../../core/json.ts'
import { filePath } from '../../core/path/build.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { parseConversationKey } from '../../core/scope.ts'
import { mergeSources } from '../../core/sources/pool.ts'
import { type IncomingSource, isEligibleMime } from '../../core/sources/source.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { InboxEvent } from '../../core/timeline/inbox-event.ts'
import { blocksOfTurn, hasPath, type Timeline } from '../../core/timeline/timeline.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { Hosting } from '../../ports/hosting.ts'
import type { Workspace } from '../../ports/workspace.ts'
import { rejectionFailure } from '../../tools/attachments/ingest.ts'
import { safeName, withSuffix } from '../../tools/attachments/upload.ts'
import type { SourceSettings } from '../settings.ts'
import type { Turn } from './turn.ts'

/** Gives each attachment a name that is allowed in a path and that is unique in the turn. A second `a.png` becomes `a-2.png`. */
export function assignUniqueNames(attachments: readonly Attachment[], turnId: string, timeline: Timeline): readonly Attachment[] {
  const taken = new Set<string>()
  const pathOf = (name: string) => filePath(turnId, 'attachments', name)
  return attachments.map((attachment) => {
    const given = safeName(attachment.name)
    let name = given
    for (let number = 2; taken.has(pathOf(name)) || hasPath(timeline, pathOf(name)); number++) name = withSuffix(given, `-${number}`)
    taken.add(pathOf(name))
    return { ...attachment, name }
  })
}

/** The attachments of a followup. They are stored in the payload of its event. */
export function attachmentsIn({ payload }: Pick<InboxEvent, 'payload'>): readonly Attachment[] {
  const listed = isObject(payload) && Array.isArray(payload.attachments) ? payload.attachments : []
  return listed.filter(isAttachment)
}

function isAttachment(value: unknown): value is Attachment {
  return isObject(value) && typeof value.name === 'string' && typeof value.mime === 'string' && typeof value.size_bytes === 'number'
}

/**
 * The blobs of attachments. The event that contains the attachments must list these blobs in `keeps`. Otherwise the store may remove them.
 */
export const attachmentBlobs = (attachments: readonly Attachment[]): readonly BlobRef[] =>
  attachments.flatMap(({ blob }) => (blob ? [blob] : []))

export const attachmentDrafts = (attachments: readonly Attachment[], turnId: string, ts: string): readonly Draft[] =>
  attachments.flatMap((attachment) => attachmentBlocks(turnId, ts, attachment))

/** The change that adds attachments to the source pool, if their MIME types may be cited. */
export function attachedSources(
  attachments: readonly Attachment[],
  { turnId, ts }: { readonly turnId: string; readonly ts: string },
  { sources }: Timeline,
  { eligibleMimes }: SourceSettings,
): readonly Change[] {
  const incoming = attachments
    .filter(({ mime }) => isEligibleMime(mime, eligibleMimes))
    .flatMap((attachment) => sourceOf(attachment, turnId))
  if (incoming.length === 0) return []
  const { pool, changed } = mergeSources(sources, incoming)
  return changed.length === 0 ? [] : [{ type: 'sources.merged', ts, rows: changed, next_sid: pool.next_sid }]
}

function sourceOf(attachment: Attachment, turnId: string): readonly IncomingSource[] {
  const path = filePath(turnId, 'attachments', attachment.name)
  const physical = toPhysical(path)
  if (physical === undefined) return []
  return [
    {
      source_type: 'attachment',
      title: attachment.name,
      mime: attachment.mime,
      size_bytes: attachment.size_bytes,
      artifact_path: path,
      physical_path: physical,
      turn_id: turnId,
      ...(attachment.snippet && { text: attachment.snippet }),
    },
  ]
}

/**
 * Returns a function that writes the attachments of a turn into its workspace. The function writes each file once, so a later call writes
 * only the files of new followups.
 */
export function createAttachmentPlacer(
  blobs: Pick<BlobStore, 'get'>,
): (workspace: Workspace, timeline: Timeline, turnId: string) => Promise<void> {
  const placed = new Set<string>()
  return (workspace, timeline, turnId) => placeAttachments(workspace, timeline, turnId, blobs, placed)
}

/**
 * Writes each attachment read-only as `<turn>/attachments/<name>`. A file that is already there with the same size is not written again.
 */
export async function placeAttachments(
  { files }: Pick<Workspace, 'files'>,
  timeline: Timeline,
  turnId: string,
  blobs: Pick<BlobStore, 'get'>,
  placed = new Set<string>(),
): Promise<void> {
  for (const { path = '', blob } of attachedFiles(timeline, turnId)) {
    const physical = toPhysical(path)
    if (physical === undefined || placed.has(physical)) continue
    if ((await files.stat(physical))?.size !== blob.size) await files.write(physical, await blobs.get(blob.sha256), { readOnly: true })
    placed.add(physical)
  }
}

function attachedFiles(timeline: Timeline, turnId: string) {
  return blocksOfTurn(timeline, turnId).flatMap(({ type, path, blob, meta }) => {
    const bytes = type === 'user.attachment' ? blob : type === 'user.attachment.meta' ? meta?.keeps?.[0] : undefined
    return bytes ? [{ path, blob: bytes }] : []
  })
}

/** Hosts all attachments of a new message. If one can not be hosted, removes those that were hosted before it and rejects the message. */
export async function hostAllOrReject(turn: Turn, attachments: readonly Attachment[], ts: string): Promise<readonly Attachment[]> {
  const { hosting } = turn.agent
  if (!hosting || attachments.length === 0) return attachments
  const hosted: Attachment[] = []
  for (const attachment of attachments) {
    try {
      hosted.push(await hostOne(hosting, turn, attachment, ts))
    } catch (error) {
      await removeHosted(turn)
      const { name } = attachment
      throw rejectionFailure([{ name, reason: 'store_error', message: `${name} could not be stored. Send the message again.` }], error)
    }
  }
  return hosted
}

/**
 * Hosts as many attachments as possible. The message was accepted before, so it is not rejected if an attachment can not be hosted. The
 * bytes of this attachment stay in the blob store.
 */
export async function hostIfPossible(turn: Turn, attachments: readonly Attachment[], ts: string): Promise<readonly Attachment[]> {
  const { hosting, onProblem } = turn.agent
  if (!hosting) return attachments
  const attempts = attachments.map((attachment) =>
    hostOne(hosting, turn, attachment, ts).catch((error: unknown) => {
      onProblem({ where: 'attachment hosting', error })
      return attachment
    }),
  )
  return Promise.all(attempts)
}

/** Removes all hosted files of a turn that could not be started. */
export async function removeHosted({ turnId, agent: { hosting, onProblem }, conversation }: Turn): Promise<void> {
  const { scope, name } = parseConversationKey(conversation.conversationId)
  await hosting?.remove(scope, name, turnId).catch((error: unknown) => onProblem({ where: 'attachment clean-up', error }))
}

async function hostOne(
  hosting: Hosting,
  { turnId, conversation: { conversationId } }: Turn,
  attachment: Attachment,
  ts: string,
): Promise<Attachment> {
  const physicalPath = toPhysical(filePath(turnId, 'attachments', attachment.name))
  if (!attachment.blob || physicalPath === undefined) return attachment
  const { scope: owner, name } = parseConversationKey(conversationId)
  const file = {
    owner,
    conversationId: name,
    turnId,
    stage: 'attachment',
    physicalPath,
    mime: attachment.mime,
    ts,
    content: attachment.blob,
  } as const
  const { key, hosted_uri, rn } = await hosting.host(file)
  return { ...attachment, key, hosted_uri, rn }
}
