import type { AnnouncedWorkspace as WorkspaceFacts } from '../core/announce/sections.ts'
import type { BlobRef } from '../core/block/index.ts'
import type { Scope } from '../core/scope.ts'
import type { Files } from './files.ts'

/**
 * Where the files of a conversation's turns live on this machine, and how those of earlier turns come back. Two kinds: `custom` keeps a
 * manifest per turn, `git` a commit per turn. Tools never ask which. Every implementation passes testing/conformance/workspace.ts.
 */
export interface Workspaces {
  readonly implementation: 'custom' | 'git'
  /** The same folders for the same conversation. Nothing is made on disk before something is written. */
  open(owner: Scope, conversation: string): Promise<Workspace>
  /** Everything local, and everything this kind of workspace keeps elsewhere. */
  remove(owner: Scope, conversation: string): Promise<void>
}

/**
 *   <workspace>/out/timeline.json, sources_pool.json, logs/     `runtime`, nothing the model can name
 *   <workspace>/out/workdir/<turn>/files outputs attachments    `files`, OUT_DIR
 *   <workspace>/work                                            `scratch`
 *
 * What a conversation has below `files/` is its lineage. Its first folders are scopes, one per project; a file at the top is a scope of its
 * own. A turn begins with none of it here, and leaves a version behind: the lineage before it, with every scope that the turn checked out
 * or wrote to replaced by what the turn made of it.
 */
export interface Workspace {
  readonly files: Files
  readonly scratch: Files
  readonly runtime: Files
  /** A turn begins, or is taken up again: its root is as it was left, or empty. */
  startTurn(turnId: string): Promise<void>
  /** The version that a turn left: paths below `files/` and their sizes, in order. Undefined when it left none. */
  version(turnId: string, history: RecordedFiles): Promise<readonly { readonly rel: string; readonly size: number }[] | undefined>
  /**
   * Brings files of a turn here, read-only, under that turn's root; in the turn that was begun, only what is not there. What is already
   * here with the same content is not fetched.
   */
  hydrate(turnId: string, refs: readonly HydrationRef[], history: RecordedFiles): Promise<Hydration>
  /** `files/` of the turn becomes the sources laid over each other, or over what it holds. All or nothing. */
  checkout(turnId: string, request: CheckoutRequest, history: RecordedFiles): Promise<CheckoutOutcome>
  /** What the turn made of `files/` is kept for later turns. Safe to repeat, until the turn is closed. */
  publish(turnId: string, request: PublishRequest, history: RecordedFiles): Promise<PublishOutcome>
  /** For the announcement. */
  describe(turnId: string): Promise<WorkspaceFacts>
}

/** What the journal knows of files: a workspace that keeps no bytes of its own finds them through it. */
export interface RecordedFiles {
  /** The newest bytes that were recorded at this logical path, whatever recorded them; never a preview, never a diff. */
  bytes(logical: string): Promise<Uint8Array | undefined>
  /** Logical paths of every file recorded in a turn. */
  paths(turnId: string): Promise<readonly string[]>
  /** The record that a publish of this turn left in its block, parsed and not checked. */
  manifest(turnId: string): Promise<unknown>
}

export interface HydrationRef {
  readonly area: 'files' | 'outputs' | 'attachments'
  /** A file, or, in `files`, a folder; '' is all of it. */
  readonly rel: string
}

export interface Hydration {
  /** Paths are relative to OUT_DIR. */
  readonly present: readonly { readonly ref: HydrationRef; readonly files: readonly { readonly path: string; readonly size: number }[] }[]
  readonly missing: readonly HydrationRef[]
  /** What of a ref could not be had, though it is known to exist. */
  readonly errors: readonly { readonly ref: HydrationRef; readonly message: string }[]
  /** How many were brought here now; the rest was already here. */
  readonly fetched: number
}

export interface CheckoutRequest {
  readonly mode: 'replace' | 'overlay'
  /** In order: later ones lie over earlier ones. */
  readonly sources: readonly CheckoutSource[]
  /** Also when that undoes what the turn has made by other means than a checkout. */
  readonly force?: boolean
}

export interface CheckoutSource {
  readonly turnId: string
  /** Below `files/`; '' is all of it. */
  readonly rel: string
}

export type CheckoutOutcome =
  | {
      readonly ok: true
      readonly checkedOut: readonly { readonly source: CheckoutSource; readonly files: number }[]
      /** Everything the turn has checked out by now: a replace begins anew. */
      readonly checkedOutFrom: readonly CheckoutSource[]
      /** What `files/` holds now, in order. */
      readonly files: readonly string[]
    }
  | {
      readonly ok: false
      readonly code: 'missing' | 'nonempty' | 'failed'
      readonly problems: readonly { readonly source?: CheckoutSource; readonly message: string }[]
    }

export interface PublishRequest {
  /** The turn whose version is the newest, by the journal. A workspace with a memory of its own need not believe it. */
  readonly previous: string | undefined
}

/** What goes into the `react.workspace.publish` block: `record` is its text, `keeps` the bytes that must live as long as it does. */
export interface PublishOutcome {
  readonly status: 'published' | 'skipped' | 'failed'
  readonly record: PublishRecord
  readonly keeps?: readonly BlobRef[]
}

export interface PublishRecord {
  readonly status: PublishOutcome['status']
  readonly turn_id: string
  readonly workspace_implementation: Workspaces['implementation']
  /** There was something new. */
  readonly committed: boolean
  readonly skipped?: true
  /** `workspace_not_materialized`, `empty_workspace`: skipped. `workspace_unchanged`: the version is the one before. */
  readonly reason?: string
  readonly version_aliased?: true
  readonly message?: string
  readonly error?: { readonly code: string; readonly message: string }
  readonly [key: string]: unknown
}
