/**
 * One item of a timeline. It has the same shape in memory, in the store and in HTTP bodies. Its keys are snake_case because they are
 * stored. Code must copy a block by spreading it. A copy made field by field would lose fields that this version of Daybook does not know.
 */
export interface Block {
  /** `b_<n>`. The numbers ascend in each conversation and are never used again. Changes such as `blocks.hidden` name blocks by id. */
  readonly id: string
  /**
   * Imported blocks may have a type that is not in `BlockType`. Therefore code that looks up a type in a table first checks with
   * `Object.hasOwn` whether the table has the type.
   */
  readonly type: BlockType
  readonly author: string
  readonly turn_id: string
  /** The time when the block was made: ISO 8601 in UTC, with `Z`. */
  readonly ts: string
  readonly mime?: string
  /** The logical path. Several blocks may have the same path. */
  readonly path?: string
  readonly text?: string
  /** The bytes of a block that is not stored yet. The store saves them as a blob and replaces this field by `blob`. */
  readonly base64?: string
  readonly blob?: BlobRef
  readonly call_id?: string
  readonly tool_id?: string
  /** The full content, when `text` is a shortened form of it. The model never sees `payload`. */
  readonly payload?: unknown
  readonly meta?: Meta
}

/** A reference to a blob, which the blob store holds. */
export interface BlobRef {
  readonly sha256: string
  readonly size: number
}

/**
 * What hid the block:
 * - `hide`: the agent, with `react.hide`
 * - `cache_ttl`: the runtime hid a whole old turn, after the provider's cache had expired
 * - `cache_ttl_light`: the runtime hid some blocks of a recent turn, after the provider's cache had expired
 * - `compaction`: a checkpoint replaced the block, or the block was an image or document and the prompt was too long
 */
export type HiddenReason = 'hide' | 'cache_ttl' | 'cache_ttl_light' | 'compaction'
/** Whether the block was in an old turn or in one of the recent turns when the runtime hid it. */
export type HiddenScope = 'old_turn' | 'recent'
/** `external` artifacts are for the user. `internal` artifacts are only for the agent. */
export type Visibility = 'external' | 'internal'
export type ArtifactKind = 'file' | 'display'

/** Further properties of a block. Unknown keys are kept. */
export interface Meta {
  readonly tool_call_id?: string
  readonly tool_id?: string
  /** The number, from 0, of the round that made this block. */
  readonly iteration?: number
  readonly artifact_path?: string
  readonly physical_path?: string
  readonly hosted_uri?: string
  readonly rn?: string
  readonly key?: string
  /**
   * A copy of the artifact's digest, as JSON text. The digest also has a block of its own. The copy is needed when that block is no longer
   * in the timeline that the model sees.
   */
  readonly digest?: string
  /**
   * Further blobs that the store must keep as long as this block. For example, if the block shows only a part of a file, the blob is the
   * whole file.
   */
  readonly keeps?: readonly BlobRef[]
  readonly kind?: string
  readonly visibility?: Visibility
  readonly channel?: string
  readonly edited?: boolean
  /** True when the text is a diff of the file and not its content. */
  readonly is_patch?: boolean
  /** True when the text is only a part or a preview of the file's content. */
  readonly partial?: boolean
  readonly sources_used?: readonly number[]
  /** True for a PDF that a tool made for the user. The model sees its pages even if the agent does not read it with `react.read`. */
  readonly attach_to_model?: boolean
  readonly hidden?: boolean
  readonly replacement_text?: string
  readonly hidden_reason?: HiddenReason
  readonly hidden_scope?: HiddenScope
  readonly [key: string]: unknown
}

/** A block that has no id yet. It gets an id when it is appended to the timeline. */
export type Draft<T extends BlockType = BlockType> = Omit<Block, 'id' | 'type'> & { readonly type: T }

export const blockId = (number: number): string => `b_${number}`

/** The number in an id `b_<n>`. Undefined when the id has another form, as in some imported blocks. */
export function blockNumber(id: string): number | undefined {
  if (!id.startsWith('b_') || id.length < 3 || id.length > 17) return undefined // a number of up to 15 digits is exact in JavaScript
  let number = 0
  for (let position = 2; position < id.length; position++) {
    const digit = id.charCodeAt(position) - 48
    if (digit < 0 || digit > 9) return undefined
    number = number * 10 + digit
  }
  return number
}

/**
 * The block without its `meta`, if `meta` is empty. Blocks in a timeline never have an empty `meta`, so that equal blocks compare equal.
 */
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

/** All blobs that must be stored as long as the block. */
export function blobRefsOf({ blob, meta }: Pick<Block, 'blob' | 'meta'>): readonly BlobRef[] {
  return [...(blob ? [blob] : []), ...(meta?.keeps ?? [])]
}

/** The id of the tool call that the block belongs to. */
export const callIdOf = (block: Pick<Block, 'call_id' | 'meta'>): string | undefined =>
  block.call_id ?? block.meta?.tool_call_id ?? undefined

/** Every type of block that Daybook writes. Imported blocks of other types are stored but never shown to the model. */
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

/** The type of a block. */
export type BlockType = (typeof blockTypes)[number]

/** The media type of a block, in lower case and without parameters such as `charset`. Empty when the block has no media type. */
export function mimeOf({ mime = '' }: Block): string {
  const end = mime.indexOf(';')
  return (end === -1 ? mime : mime.slice(0, end)).trim().toLowerCase()
}

/**
 * A reference to the block's bytes. If the bytes are still in `base64`, they have no hash yet, so the reference has their size and an empty
 * hash.
 */
export function blobOf(block: Block): BlobRef | undefined {
  if (block.blob) return block.blob
  return block.base64 === undefined ? undefined : { sha256: '', size: decodedSize(block.base64) }
}

function decodedSize(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor(((base64.length - padding) * 3) / 4)
}
