import type { BlobRef } from '../core/block/index.ts'
import type { Scope, UserOrTenant } from '../core/scope.ts'
import type { ByteRange } from './blobs.ts'

/**
 * Makes files available to users. A hosted file has three handles: `key`, `rn` and `hosted_uri`. Its bytes are stored as a blob, and the
 * key points to this blob. When the file is hosted again, the key points to the new blob. Blocks refer to the blob by its hash, so they
 * still refer to the old bytes.
 * A handle alone gives no access, because `resolve` checks whether the viewer owns the file.
 * Every implementation passes testing/conformance/hosting.ts.
 */
export interface Hosting {
  /** Hosts a file, which is durable when the promise resolves. When a turn hosts the same path again, the key points to the new bytes. */
  host(file: NewFile): Promise<HostingHandles>
  /**
   * Finds a file by one of its handles. Undefined when there is no such file, or when the file belongs to another scope than the viewer's.
   */
  resolve(handle: string, viewer: Scope): Promise<HostedFile | undefined>
  read(file: HostedFile): Promise<Uint8Array>
  /** Yields the bytes of the file, or a part of them, as `BlobStore.stream` does. */
  stream(file: HostedFile, range?: ByteRange): AsyncIterable<Uint8Array>
  /** Removes the keys of all files of a conversation, or of one of its turns. The blobs with the bytes stay. */
  remove(owner: Scope, conversationId: string, turnId?: string): Promise<void>
  /** How many files of a conversation are hosted. The receipt of a deletion contains this number. */
  count?(owner: Scope, conversationId: string): Promise<number>
  /** Removes the empty folders that are named after a user or tenant. A hosting without folders lacks this function. */
  removeFolders?(owner: UserOrTenant): Promise<void>
}

/** A file to host. */
export interface NewFile {
  readonly owner: Scope
  /** The name of the conversation within the scope of its owner. In the store, its id also contains the scope. */
  readonly conversationId: string
  readonly turnId: string
  readonly stage: 'file' | 'attachment'
  /** The path below the folder with the turns, such as `turn_1/files/report.pdf`. `unsafeReason` (core/path/safety.ts) must accept it. */
  readonly physicalPath: string
  readonly mime: string
  readonly description?: string
  readonly ts: string
  /** The bytes of the file, or a reference to a blob if the blob store already has the bytes. */
  readonly content: Uint8Array | BlobRef
}

/** The names by which a hosted file can be found. The journal stores them only in `meta` of the file's block. */
export interface HostingHandles {
  readonly key: string
  readonly hosted_uri: string
  readonly rn: string
  readonly blob: BlobRef
}

/** A hosted file as `resolve` finds it. */
export interface HostedFile extends HostingHandles {
  readonly owner: Scope
  readonly conversationId: string
  readonly turnId: string
  readonly physicalPath: string
  /** The last part of `physicalPath`, such as `report.pdf`. */
  readonly filename: string
  readonly mime: string
  readonly description?: string
  readonly ts: string
}
