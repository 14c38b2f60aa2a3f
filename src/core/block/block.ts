/**
 * The one shape of an entry: in memory, in the store, on the wire. Keys are snake_case because they are stored.
 * Fields and types that we do not know survive: a block is spread, never rebuilt.
 */
export interface Block {
  /** `b_<n>`, given once, in order, per conversation; what hiding, expiry and compaction act on. */
  readonly id: string
  readonly type: string
  readonly author: string
  readonly turn_id: string
  /** ISO 8601, UTC, `Z`. */
  readonly ts: string
  readonly mime?: string
  /** Logical address. Not unique: blocks that share a path are one path group. */
  readonly path?: string
  readonly text?: string
  /** Only until the block is stored: then `blob` stands for the bytes. */
  readonly base64?: string
  readonly blob?: BlobRef
  readonly call_id?: string
  readonly tool_id?: string
  /** The whole payload where `text` holds a shortened form of it. Never rendered. */
  readonly payload?: unknown
  readonly meta?: Meta
}

/** Bytes kept elsewhere, by content. */
export interface BlobRef {
  readonly sha256: string
  readonly size: number
}

export type HiddenReason = 'hide' | 'cache_ttl' | 'cache_ttl_light' | 'compaction'
export type HiddenScope = 'old_turn' | 'recent'
export type Visibility = 'external' | 'internal'
export type ArtifactKind = 'file' | 'display'

export interface Meta {
  readonly tool_call_id?: string
  readonly tool_id?: string
  /** Zero-based decision of the turn that this block belongs to: with the turn id, its round. */
  readonly iteration?: number
  readonly artifact_path?: string
  readonly physical_path?: string
  readonly hosted_uri?: string
  readonly rn?: string
  readonly key?: string
  /** The safe digest, again, so that a metadata block can be rebuilt from the file block. */
  readonly digest?: string
  /** Bytes that live as long as this block, besides those it stands for: the whole of what it shows a part of, files of a manifest. */
  readonly keeps?: readonly BlobRef[]
  readonly kind?: string
  readonly visibility?: Visibility
  readonly channel?: string
  readonly edited?: boolean
  /** The text is a diff, not the content. */
  readonly is_patch?: boolean
  /** The text is a part or a preview of the content. */
  readonly partial?: boolean
  readonly sources_used?: readonly number[]
  readonly hidden?: boolean
  readonly replacement_text?: string
  readonly hidden_reason?: HiddenReason
  readonly hidden_scope?: HiddenScope
  readonly [key: string]: unknown
}

/** A block that has not been entered yet: everything but its number. */
export type Draft<T extends string = string> = Omit<Block, 'id' | 'type'> & { readonly type: T }

export const blockId = (number: number): string => `b_${number}`

/** The number inside an id of ours; imported blocks may carry ids of any shape. */
export function blockNumber(id: string): number | undefined {
  if (!id.startsWith('b_') || id.length < 3 || id.length > 17) return undefined
  let number = 0
  for (let at = 2; at < id.length; at++) {
    const digit = id.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return undefined
    number = number * 10 + digit
  }
  return number
}

/** No meta and an empty one say the same; as entered, there is none. */
export function dropEmptyMeta(block: Block): Block {
  if (block.meta === undefined || !isEmptyMeta(block.meta)) return block
  const { meta: _nothing, ...rest } = block
  return rest
}

/** Asked of every block that enters: nothing is made for it. */
export function isEmptyMeta(meta: Meta): boolean {
  for (const _key in meta) return false
  return true
}

export const isHidden = (block: Block): boolean => block.meta?.hidden === true

/** All bytes that must live as long as the block. */
export function blobRefsOf({ blob, meta }: Pick<Block, 'blob' | 'meta'>): readonly BlobRef[] {
  const keeps = meta?.keeps
  if (keeps === undefined) return blob ? [blob] : noBlobs
  return blob ? [blob, ...keeps] : keeps
}

const noBlobs: readonly BlobRef[] = []

/** The call a block belongs to, wherever it says so. */
export const callIdOf = (block: Pick<Block, 'call_id' | 'meta'>): string | undefined =>
  block.call_id ?? block.meta?.tool_call_id ?? undefined
