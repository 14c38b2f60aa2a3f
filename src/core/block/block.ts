/**
 * One entry of a timeline. It has the same shape in memory, in the store and on the wire. Keys are snake_case because they are stored.
 * Code copies a block by spreading it and never rebuilds it field by field, so that unknown fields survive.
 */
export interface Block {
  /** `b_<n>`. The numbers ascend in each conversation and are never reused. Hiding, expiry and compaction name blocks by id. */
  readonly id: string
  /** Imported blocks may have a type that is not in `BlockType`. Therefore look types up in tables with `Object.hasOwn`. */
  readonly type: BlockType
  readonly author: string
  readonly turn_id: string
  /** When the block was made: ISO 8601 in UTC, with `Z`. */
  readonly ts: string
  readonly mime?: string
  /** The logical path. Several blocks may have the same path; they are called a path group. */
  readonly path?: string
  readonly text?: string
  /** The bytes of a block that is not stored yet. The store replaces this field by `blob`. */
  readonly base64?: string
  readonly blob?: BlobRef
  readonly call_id?: string
  readonly tool_id?: string
  /** The whole payload when `text` holds a shortened form. The model never sees it. */
  readonly payload?: unknown
  readonly meta?: Meta
}

/** A reference to bytes in the blob store. */
export interface BlobRef {
  readonly sha256: string
  readonly size: number
}

/** Why a block is hidden. */
export type HiddenReason = 'hide' | 'cache_ttl' | 'cache_ttl_light' | 'compaction'
/** Whether a hidden block was in an old turn or a recent one. */
export type HiddenScope = 'old_turn' | 'recent'
/** Whether users see an artifact. */
export type Visibility = 'external' | 'internal'
export type ArtifactKind = 'file' | 'display'

/** Further facts about a block. Unknown keys are kept. */
export interface Meta {
  readonly tool_call_id?: string
  readonly tool_id?: string
  /** The number of the round in its turn that made this block, from 0. */
  readonly iteration?: number
  readonly artifact_path?: string
  readonly physical_path?: string
  readonly hosted_uri?: string
  readonly rn?: string
  readonly key?: string
  /** A copy of the artifact's digest, so that the metadata block can be rebuilt from the content block. */
  readonly digest?: string
  /** Further bytes that must live as long as this block, such as the whole file of which the block shows a part. */
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
  /** A PDF of a tool is shown to the model without being read. */
  readonly attach_to_model?: boolean
  readonly hidden?: boolean
  readonly replacement_text?: string
  readonly hidden_reason?: HiddenReason
  readonly hidden_scope?: HiddenScope
  readonly [key: string]: unknown
}

/** A block without its id, which it gets when it is appended. */
export type Draft<T extends BlockType = BlockType> = Omit<Block, 'id' | 'type'> & { readonly type: T }

export const blockId = (number: number): string => `b_${number}`

/** The number in a `b_<n>` id; undefined for ids of another shape, which imported blocks may have. */
export function blockNumber(id: string): number | undefined {
  if (!id.startsWith('b_') || id.length < 3 || id.length > 17) return undefined // numbers of up to 15 digits are exact
  let number = 0
  for (let position = 2; position < id.length; position++) {
    const digit = id.charCodeAt(position) - 48
    if (digit < 0 || digit > 9) return undefined
    number = number * 10 + digit
  }
  return number
}

/** The block without its `meta` if that is empty. Empty and absent mean the same; in the timeline it is always absent. */
export function dropEmptyMeta(block: Block): Block {
  if (block.meta === undefined || !isEmptyMeta(block.meta)) return block
  const { meta: _empty, ...rest } = block
  return rest
}

export function isEmptyMeta(meta: Meta): boolean {
  for (const _key in meta) return false
  return true
}

export const isHidden = (block: Block): boolean => block.meta?.hidden === true

/** All blobs that must live as long as the block. */
export function blobRefsOf({ blob, meta }: Pick<Block, 'blob' | 'meta'>): readonly BlobRef[] {
  return [...(blob ? [blob] : []), ...(meta?.keeps ?? [])]
}

/** The id of the tool call that the block belongs to. */
export const callIdOf = (block: Pick<Block, 'call_id' | 'meta'>): string | undefined =>
  block.call_id ?? block.meta?.tool_call_id ?? undefined

/** Every type of block that Daybook writes. Imported blocks of other types are kept but never shown to the model. */
export const blockTypes = [
  'turn.header',
  'user.prompt',
  'user.attachment.meta',
  'user.attachment',
  'user.attachment.text',
  'user.followup',
  'user.followup.preserved',
  'user.steer',
  'user.steer.preserved',
  'stage.gate',
  'stage.react',
  'stage.coordinator',
  'stage.feedback',
  'stage.clarification',
  'stage.clarification.resolved',
  'stage.suggested_followups',
  'react.thinking',
  'react.decision.raw',
  'react.notes',
  'react.tool.code',
  'react.tool.call',
  'react.tool.result',
  'react.notice',
  'react.note',
  'react.note.preserved',
  'react.plan',
  'react.plan.ack',
  'react.plan.history',
  'react.plan.preserved',
  'react.completion',
  'react.current_turn.compaction_checkpoint',
  'react.workspace.checkout',
  'react.workspace.publish',
  'assistant.completion',
  'assistant.completion.attempt',
  'assistant.completion.attempt.outcome',
  'agent.log.header',
  'conv.range.summary',
  'conv.working.summary',
  'event.external',
  'turn.feedback',
  'system.message',
] as const

/** The block types that Daybook writes. */
export type BlockType = (typeof blockTypes)[number]

/** The media type of a block, in lower case and without parameters. Empty when the block has none. */
export function mimeOf({ mime = '' }: Block): string {
  const end = mime.indexOf(';')
  return (end === -1 ? mime : mime.slice(0, end)).trim().toLowerCase()
}

/** A reference to the block's bytes. Inline bytes have no hash yet: their reference has a size and an empty hash. */
export function blobOf(block: Block): BlobRef | undefined {
  if (block.blob) return block.blob
  return block.base64 === undefined ? undefined : { sha256: '', size: decodedSize(block.base64) }
}

function decodedSize(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor(((base64.length - padding) * 3) / 4)
}
