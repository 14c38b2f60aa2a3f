import type { BlobRef } from '../core/block/index.ts'
import type { Scope } from '../core/scope.ts'

/**
 * Hands files over to people. Bytes are kept by content in the blob store; a key points to them and can be pointed elsewhere, so that
 * what an earlier block refers to stays what it was. Whoever resolves a handle says who they are; a handle never does.
 * Every implementation passes testing/conformance/hosting.ts.
 */
export interface Hosting {
  /** Durable before it resolves. The same file of the same turn again points its key to the new bytes. */
  host(file: NewFile): Promise<HostingHandles>
  /** By `rn`, `key` or `hosted_uri`. Undefined when it does not exist, and just the same when it is somebody else's. */
  resolve(handle: string, viewer: Scope): Promise<HostedFile | undefined>
  read(file: HostedFile): Promise<Uint8Array>
  /** Removes every pointer of a conversation, or of one turn of it. */
  remove(owner: Scope, conversation: string, turnId?: string): Promise<void>
}

export interface NewFile {
  readonly owner: Scope
  /** The conversation's name inside its scope. */
  readonly conversation: string
  readonly turnId: string
  readonly stage: 'file' | 'attachment'
  /** Relative to OUT_DIR, checked again: `turn_1/files/report.pdf`. */
  readonly physicalPath: string
  readonly mime: string
  readonly description?: string
  readonly ts: string
  /** Bytes, or bytes that the blob store already holds. */
  readonly content: Uint8Array | BlobRef
}

/** The handles of a hosted file. They go into `meta` of its block and nowhere else. */
export interface HostingHandles {
  readonly key: string
  readonly hosted_uri: string
  readonly rn: string
  readonly blob: BlobRef
}

export interface HostedFile extends HostingHandles {
  readonly owner: Scope
  readonly conversation: string
  readonly turnId: string
  readonly physicalPath: string
  /** The last part of the path. */
  readonly filename: string
  readonly mime: string
  readonly description?: string
  readonly ts: string
}
