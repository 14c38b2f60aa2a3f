import { type Attachment, attachmentBlocks, type BlobRef, type Draft } from '../../core/block/index.ts'
import { isObject } from '../../core/json.ts'
import { filePath } from '../../core/path/build.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { parseConversationKey } from '../../core/scope.ts'
import { mergeSources } from '../../core/sources/pool.ts'
import { type IncomingSource, isEligibleMime } from '../../core/sources/source.ts'
import type { Change, InboxEvent } from '../../core/timeline/change.ts'
import { blocksOfTurn, hasPath, type Timeline } from '../../core/timeline/timeline.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { Hosting } from '../../ports/hosting.ts'
import type { Workspace } from '../../ports/workspace.ts'
import { rejectionFailure } from '../../tools/attachments/ingest.ts'
import { safeName } from '../../tools/attachments/upload.ts'
import type { SourceSettings } from '../settings.ts'
import type { Turn } from './turn.ts'

/** Attachments with names that are safe, and free in the turn: `a.png` after `a.png` is `a-2.png`. */
export function uniquelyNamed(attachments: readonly Attachment[], turnId: string, timeline: Timeline): readonly Attachment[] {
  const taken = new Set<string>()
  const pathOf = (name: string) => filePath(turnId, 'attachments', name)
  return attachments.map((attachment) => {
    let name = safeName(attachment.name)
    const [, stem = name, extension = ''] = /^(.+?)(\.[^./]*)?$/s.exec(name) ?? []
    for (let number = 2; taken.has(pathOf(name)) || hasPath(timeline, pathOf(name)); number++) name = `${stem}-${number}${extension}`
    taken.add(pathOf(name))
    return { ...attachment, name }
  })
}

/** What a followup brought along, as its event carries it. */
export function attachmentsIn({ payload }: Pick<InboxEvent, 'payload'>): readonly Attachment[] {
  const listed = isObject(payload) && Array.isArray(payload.attachments) ? payload.attachments : []
  return listed.filter(isAttachment)
}

function isAttachment(value: unknown): value is Attachment {
  return isObject(value) && typeof value.name === 'string' && typeof value.mime === 'string' && typeof value.size_bytes === 'number'
}

/** The bytes of attachments: whoever carries them must keep these. */
export const bytesOfAttachments = (attachments: readonly Attachment[]): readonly BlobRef[] =>
  attachments.flatMap(({ blob }) => (blob ? [blob] : []))

export const attachmentDrafts = (attachments: readonly Attachment[], turnId: string, ts: string): readonly Draft[] =>
  attachments.flatMap((attachment) => attachmentBlocks(turnId, ts, attachment))

/** Attachments that can be cited get a number, like any source. */
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
    },
  ]
}

/** Places what a turn was sent, each file once, also what comes while it runs. */
export function createPlacer(blobs: Pick<BlobStore, 'get'>): (workspace: Workspace, timeline: Timeline, turnId: string) => Promise<void> {
  const placed = new Set<string>()
  return (workspace, timeline, turnId) => placeAttachments(workspace, timeline, turnId, blobs, placed)
}

/** Puts the files of a turn where programs look for them, `<turn>/attachments/<name>`, read-only. What is there already is not fetched. */
export async function placeAttachments(
  { files }: Pick<Workspace, 'files'>,
  timeline: Timeline,
  turnId: string,
  blobs: Pick<BlobStore, 'get'>,
  placed = new Set<string>(),
): Promise<void> {
  for (const { path = '', blob } of attachedIn(timeline, turnId)) {
    const physical = toPhysical(path)
    if (physical === undefined || placed.has(physical)) continue
    if ((await files.stat(physical))?.size !== blob.size) await files.write(physical, await blobs.get(blob.sha256), { readOnly: true })
    placed.add(physical)
  }
}

function attachedIn(timeline: Timeline, turnId: string) {
  return blocksOfTurn(timeline, turnId).flatMap(({ type, path, blob, meta }) => {
    const bytes = type === 'user.attachment' ? blob : type === 'user.attachment.meta' ? meta?.keeps?.[0] : undefined
    return bytes ? [{ path, blob: bytes }] : []
  })
}

type Host = Pick<Turn, 'hosting' | 'conversationId' | 'turnId' | 'onProblem'>

/** With their handles. All of them, or the message is not taken and no handle stays: the turn is new, so every handle of it is one of these. */
export async function hostOrReject(turn: Host, attachments: readonly Attachment[], ts: string): Promise<readonly Attachment[]> {
  if (!turn.hosting || attachments.length === 0) return attachments
  const hosted: Attachment[] = []
  for (const attachment of attachments) {
    try {
      hosted.push(await hostOne(turn.hosting, turn, attachment, ts))
    } catch (error) {
      await unhost(turn)
      const { name } = attachment
      throw rejectionFailure([{ name, reason: 'store_error', message: `${name} could not be stored. Send the message again.` }], error)
    }
  }
  return hosted
}

/** With their handles, as far as they can be had: the message was accepted before, and its bytes are kept in any case. */
export async function hostIfPossible(turn: Host, attachments: readonly Attachment[], ts: string): Promise<readonly Attachment[]> {
  const { hosting } = turn
  if (!hosting) return attachments
  const attempts = attachments.map((attachment) =>
    hostOne(hosting, turn, attachment, ts).catch((error: unknown) => {
      turn.onProblem({ where: 'attachment hosting', error })
      return attachment
    }),
  )
  return Promise.all(attempts)
}

/** Takes back every handle of a turn that did not begin. */
export async function unhost({ hosting, conversationId, turnId, onProblem }: Host): Promise<void> {
  const { scope, name } = parseConversationKey(conversationId)
  await hosting?.remove(scope, name, turnId).catch((error: unknown) => onProblem({ where: 'attachment clean-up', error }))
}

async function hostOne(hosting: Hosting, { conversationId, turnId }: Host, attachment: Attachment, ts: string): Promise<Attachment> {
  const physicalPath = toPhysical(filePath(turnId, 'attachments', attachment.name))
  if (!attachment.blob || physicalPath === undefined) return attachment
  const { scope: owner, name: conversation } = parseConversationKey(conversationId)
  const file = {
    owner,
    conversation,
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
