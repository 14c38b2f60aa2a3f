import type { BlobRef } from '../block/block.ts'

/** One element of the message a model reads. Bytes stay a reference until an adapter needs them. */
export type Part = TextPart | BinaryPart

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  /** The provider may cache everything up to and with this part. */
  readonly cache?: true
}

export interface BinaryPart {
  readonly type: 'image' | 'document'
  readonly media_type: string
  readonly blob: BlobRef
  /** What it is billed by, where the block says it. */
  readonly width?: number
  readonly height?: number
  readonly pages?: number
  /** The bytes themselves, of a block that no store has taken yet; the blob then has a size and no hash. */
  readonly base64?: string
  readonly cache?: true
}
