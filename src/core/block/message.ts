import { type JsonObject, omitUndefined } from '../json.ts'
import { completionPath, externalPath, filePath, promptPath } from '../path/build.ts'
import { toPhysical } from '../path/physical.ts'
import { digestText } from './artifact.ts'
import type { BlobRef, Draft } from './block.ts'
import type { Digest } from './round.ts'

export function userPromptBlock(turnId: string, ts: string, text: string, messageId = 'm0'): Draft<'user.prompt'> {
  return {
    type: 'user.prompt',
    author: 'user',
    turn_id: turnId,
    ts,
    mime: 'text/markdown',
    path: promptPath(turnId),
    text,
    meta: { message_id: messageId },
  }
}

/** A message that the user sent while a turn was running. A steer interrupts the round. A followup waits until the round has ended. */
export function userEventBlock<K extends 'followup' | 'steer'>(
  kind: K,
  turnId: string,
  ts: string,
  event: { readonly messageId: string; readonly text: string },
): Draft<`user.${K}`> {
  return {
    type: `user.${kind}`,
    author: 'user',
    turn_id: turnId,
    ts,
    mime: 'text/markdown',
    path: externalPath(turnId, kind, event.messageId),
    text: event.text,
    meta: { message_id: event.messageId },
  }
}

/** A file that the user attached to a message. */
export interface Attachment {
  readonly name: string
  readonly mime: string
  readonly size_bytes: number
  readonly summary?: string
  readonly blob?: BlobRef
  readonly width?: number
  readonly height?: number
  readonly page_count?: number
  /** The encoding of a text file. Set only when the encoding is not UTF-8. */
  readonly charset?: string
  /** The beginning of a text file, for the list of sources. */
  readonly snippet?: string
  readonly rn?: string
  readonly hosted_uri?: string
  readonly key?: string
}

/** True for images and PDF files, which are sent to the model as they are. Other files are read as text or processed by a program. */
const isShownToModel = ({ mime, blob }: Attachment): boolean =>
  blob !== undefined && (mime === 'application/pdf' || mime.startsWith('image/'))

/**
 * The blocks of an attachment. The first block has the digest. For images and PDF, a second block refers to the bytes. For other types
 * there is only the first block, which refers to the bytes in `meta.keeps`.
 */
export function attachmentBlocks(
  turnId: string,
  ts: string,
  attachment: Attachment,
): readonly Draft<'user.attachment.meta' | 'user.attachment'>[] {
  const path = filePath(turnId, 'attachments', attachment.name)
  const physical = toPhysical(path)
  const digest: Digest = omitUndefined({
    artifact_path: path,
    physical_path: physical,
    mime: attachment.mime,
    kind: 'file' as const,
    visibility: 'external' as const,
    size_bytes: attachment.size_bytes,
    filename: attachment.name,
    summary: attachment.summary,
  })
  const description = omitUndefined({
    filename: attachment.name,
    summary: attachment.summary,
    mime: attachment.mime,
    size_bytes: attachment.size_bytes,
    width: attachment.width,
    height: attachment.height,
    page_count: attachment.page_count,
    charset: attachment.charset,
  })
  const hosting = omitUndefined({ rn: attachment.rn, hosted_uri: attachment.hosted_uri, key: attachment.key })
  const meta: Draft<'user.attachment.meta'> = {
    type: 'user.attachment.meta',
    author: 'user',
    turn_id: turnId,
    ts,
    mime: 'application/json',
    path,
    text: digestText(digest),
    meta: isShownToModel(attachment)
      ? description
      : { ...description, ...hosting, digest: digestText(digest), ...(attachment.blob && { keeps: [attachment.blob] }) },
  }
  if (!attachment.blob || !isShownToModel(attachment)) return [meta]
  return [
    meta,
    {
      type: 'user.attachment',
      author: 'user',
      turn_id: turnId,
      ts,
      mime: attachment.mime,
      path,
      blob: attachment.blob,
      meta: { ...description, ...hosting, ...(physical !== undefined && { physical_path: physical }), digest: digestText(digest) },
    },
  ]
}

interface Completion {
  readonly text: string
  readonly sourcesUsed?: readonly number[]
  readonly iteration?: number
  /** The number of this answer among the answers of its turn, from 1. `count` is the number of all answers of the turn. */
  readonly index?: number
  readonly count?: number
  /** True when the answer was cut off because the model reached its output limit. */
  readonly truncated?: boolean
  /** True when the user stopped the turn while the answer was being written. `text` is the part that users saw. */
  readonly stopped?: boolean
  /** The object in the `usage` channel of the response. */
  readonly usage?: JsonObject
  /** True when the answer is JSON, because the turn has an output schema. */
  readonly json?: boolean
}

/**
 * The block of an answer. A turn has several answers if it continued after the user had seen an answer. The path of the last answer has no
 * number. The paths of the earlier answers contain `index`.
 */
export function completionBlock(turnId: string, ts: string, completion: Completion): Draft<'assistant.completion'> {
  const { index, count } = completion
  const several = index !== undefined && count !== undefined && count > 1
  return {
    type: 'assistant.completion',
    author: 'assistant',
    turn_id: turnId,
    ts,
    mime: completion.json ? 'application/json' : 'text/markdown',
    path: completionPath(turnId, several && index < count ? index : undefined),
    text: completion.text,
    meta: omitUndefined({
      sources_used: completion.sourcesUsed,
      iteration: completion.iteration,
      truncated: completion.truncated,
      stopped: completion.stopped,
      usage: completion.usage,
      completion_index: several ? index : undefined,
      completion_count: several ? count : undefined,
    }),
  }
}
