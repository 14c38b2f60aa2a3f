import { type Attachment, attachmentBlocks, type Draft } from '../core/block/index.ts'
import { isObject } from '../core/json.ts'
import { filePath } from '../core/path/build.ts'
import { toPhysical } from '../core/path/physical.ts'
import { unsafeReason } from '../core/path/safety.ts'
import { eligibleMime } from '../core/sources/eligible.ts'
import { mergeSources } from '../core/sources/merge.ts'
import type { IncomingSource } from '../core/sources/source.ts'
import type { Change, InboxEvent } from '../core/timeline/change.ts'
import { hasPath, type Timeline } from '../core/timeline/timeline.ts'

const longestName = 80 // characters, of three bytes each

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

/** A name that can be a path. Of one that cannot, only the last part is kept: the rest told where it was on someone's disk. */
function safeName(name: string): string {
  if (unsafeReason(name) === undefined) return name
  const last = name.split(/[\\/]/).at(-1) ?? ''
  const plain = last
    .normalize('NFC')
    .replace(/[:%\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '_')
    .slice(-longestName)
  return unsafeReason(plain) === undefined ? plain : 'attachment'
}

/** What a followup brought along, as its event carries it. */
export function attachmentsIn({ payload }: Pick<InboxEvent, 'payload'>): readonly Attachment[] {
  const listed = isObject(payload) && Array.isArray(payload.attachments) ? payload.attachments : []
  return listed.filter(isAttachment)
}

function isAttachment(value: unknown): value is Attachment {
  return isObject(value) && typeof value.name === 'string' && typeof value.mime === 'string' && typeof value.size_bytes === 'number'
}

export const attachmentDrafts = (attachments: readonly Attachment[], turnId: string, ts: string): readonly Draft[] =>
  attachments.flatMap((attachment) => attachmentBlocks(turnId, ts, attachment))

/** Attachments that can be cited get a number, like any source. */
export function attachedSources(attachments: readonly Attachment[], turnId: string, ts: string, { sources }: Timeline): readonly Change[] {
  const incoming = attachments.flatMap((attachment) => sourceOf(attachment, turnId))
  if (incoming.length === 0) return []
  const { pool, changed } = mergeSources(sources, incoming)
  return changed.length === 0 ? [] : [{ type: 'sources.merged', ts, rows: changed, next_sid: pool.next_sid }]
}

function sourceOf(attachment: Attachment, turnId: string): readonly IncomingSource[] {
  if (!eligibleMime(attachment.mime)) return []
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
