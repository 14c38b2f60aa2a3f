import type { BlobRef } from '../core/block/index.ts'
import type { Scope } from '../core/scope.ts'

/**
 * Makes files available to users. The bytes are in the blob store under their hash; a key points to them, and may later point to other
 * bytes. Blocks refer to bytes by their hash, so they stay valid then. A handle grants no access: `resolve` checks the viewer.
 * Every implementation passes testing/conformance/hosting.ts.
 */
export interface Hosting {
  /** Hosts a file, durably before the promise resolves. Hosting the same file of a turn again points its key to the new bytes. */
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
  /** The conversation's id within its scope. */
  readonly conversationId: string
  readonly turnId: string
  readonly stage: 'file' | 'attachment'
  /** Relative to the conversation's OUT_DIR (ports/workspace.ts): `turn_1/files/report.pdf`. Rejected unless safe by `unsafeReason`. */
  readonly physicalPath: string
  readonly mime: string
  readonly description?: string
  readonly ts: string
  /** The bytes, or a reference when the blob store already has them. */
  readonly content: Uint8Array | BlobRef
}

/** The handles of a hosted file. They are stored in `meta` of its block and nowhere else. */
export interface HostingHandles {
  readonly key: string
  readonly hosted_uri: string
  readonly rn: string
  readonly blob: BlobRef
}

/** A hosted file, with the facts that its handles lead to. */
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
