import type { BlobRef } from '../core/block/index.ts'
import type { Scope } from '../core/scope.ts'

/**
 * Makes files available to users. The bytes lie in the blob store under their hash. The key of a file points to its bytes and may later
 * point to other bytes. Blocks stay valid then, because they refer to bytes by hash. Knowing a handle gives no access: `resolve` checks
 * whether the viewer owns the file.
 * Every implementation passes testing/conformance/hosting.ts.
 */
export interface Hosting {
  /** Hosts a file; it is durable when the promise resolves. Hosting the same file of a turn again points its key to the new bytes. */
  host(file: NewFile): Promise<HostingHandles>
  /** Finds a file by its `rn`, `key` or `hosted_uri`. Undefined when there is no such file or it belongs to another scope. */
  resolve(handle: string, viewer: Scope): Promise<HostedFile | undefined>
  read(file: HostedFile): Promise<Uint8Array>
  /** Removes all keys of a conversation, or of one of its turns. The bytes stay. */
  remove(owner: Scope, conversationId: string, turnId?: string): Promise<void>
}

/** A file to host. */
export interface NewFile {
  readonly owner: Scope
  /** The name of the conversation within its owner's scope, not its id in the store. */
  readonly conversationId: string
  readonly turnId: string
  readonly stage: 'file' | 'attachment'
  /** The path below OUT_DIR (ports/workspace.ts), such as `turn_1/files/report.pdf`. It has to be safe by `unsafeReason`. */
  readonly physicalPath: string
  readonly mime: string
  readonly description?: string
  readonly ts: string
  /** The bytes, or a reference when the blob store already has them. */
  readonly content: Uint8Array | BlobRef
}

/** The handles of a hosted file. In the journal they are only in `meta` of its block. */
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
  /** The last part of the path. */
  readonly filename: string
  readonly mime: string
  readonly description?: string
  readonly ts: string
}
