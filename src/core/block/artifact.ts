import { omitUndefined } from '../json.ts'
import type { BlobRef, Draft, Meta } from './block.ts'
import { type BlockOrigin, type Digest, roundMeta, toolResultBlock } from './round.ts'

/**
 * Fields that hold the address of a hosted file or a local path. A digest never has these fields. The block with the content has them in
 * its `meta`.
 */
export const hostingFields: ReadonlySet<string> = new Set(['hosted_uri', 'rn', 'key', 'local_path', 'managed'])

/** The digest as it is stored: JSON without empty values and without `hostingFields`. */
export function digestText(digest: Digest): string {
  const entries = Object.entries(digest).filter(
    ([key, value]) => !hostingFields.has(key) && value !== undefined && value !== null && value !== '',
  )
  return JSON.stringify(Object.fromEntries(entries))
}

/**
 * The block with the digest of an artifact. Its path is the path of the call's result. A block with the content follows, at the artifact's
 * own path.
 */
export function artifactDigestBlock(origin: BlockOrigin, digest: Digest): Draft<'react.tool.result'> {
  const text = digestText(omitUndefined({ ...digest, tool_call_id: origin.callId, ts: origin.ts }))
  return toolResultBlock(origin, { mime: 'application/json', text })
}

/**
 * The block with the content of an artifact: a text, or a reference to bytes. If neither is given, the block has only `meta`, which says
 * for example where the file is hosted.
 */
export function artifactContentBlock(
  origin: BlockOrigin,
  artifact: {
    readonly path: string
    readonly mime: string
    readonly text?: string
    readonly blob?: BlobRef
    readonly digest: Digest
    readonly meta?: Meta
  },
): Draft<'react.tool.result'> {
  return omitUndefined({
    type: 'react.tool.result' as const,
    author: 'tool',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: artifact.mime,
    path: artifact.path,
    call_id: origin.callId,
    text: artifact.text,
    blob: artifact.blob,
    meta: { ...roundMeta(origin), ...artifact.meta, digest: digestText({ ...artifact.digest, tool_call_id: origin.callId }) },
  })
}
