import type { BlobRef } from '../../core/block/index.ts'
import type { IncomingSource } from '../../core/sources/source.ts'

/** What a path holds, before anything is decided about how much of it is shown. */
export type PathContent =
  | (ContentInfo & {
      readonly kind: 'text'
      readonly text: string
      readonly capped: boolean
      readonly sources?: readonly IncomingSource[]
      /** What the path holds: the text was taken out of it. */
      readonly from?: BlobRef
    })
  | (ContentInfo & { readonly kind: 'binary'; readonly blob: BlobRef })
  /** Bytes that no model can be shown. */
  | (ContentInfo & { readonly kind: 'anchor'; readonly size: number; readonly blob?: BlobRef })
  | { readonly kind: 'missing'; readonly path: string; readonly status: MissingStatus }

interface ContentInfo {
  readonly path: string
  readonly mime: string
  /** The digest of an artifact, word for word as it was entered. */
  readonly digest?: string
  /** Of rows in the status. */
  readonly label?: string
}

export type MissingStatus =
  | 'missing'
  | 'not_a_logical_path'
  | 'turn_log_missing'
  | 'folder'
  | 'knowledge_storage_missing'
  | 'knowledge_resolver_missing'
  | 'knowledge_path_missing'
  | 'knowledge_resolver_error'
  | 'knowledge_unreadable'
  | 'skill_missing'
  | 'sources_pool_rows_missing'

export const missingContent = (path: string, status: MissingStatus = 'missing'): PathContent => ({ kind: 'missing', path, status })
