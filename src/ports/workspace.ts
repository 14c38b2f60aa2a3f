import type { AnnouncedWorkspace } from '../core/announce/sections.ts'
import type { BlobRef } from '../core/block/index.ts'
import type { Scope } from '../core/scope.ts'
import type { Files } from './files.ts'

/**
 * The local folders for the files of conversations, and the versions of earlier turns. There are two implementations: `custom` stores
 * a manifest per turn, `git` a commit per turn. Tools do not depend on which. Both pass testing/conformance/workspace.ts.
 */
export interface Workspaces {
  readonly implementation: 'custom' | 'git'
  /** Opens the folders of a conversation, always the same ones. Creates nothing on disk before the first write. */
  open(owner: Scope, conversationId: string): Promise<Workspace>
  /** Removes the local folders of a conversation and everything that the implementation stores elsewhere. */
  remove(owner: Scope, conversationId: string): Promise<void>
}

/**
 * The folders of one conversation:
 *
 *   <workspace>/out/timeline.json, sources_pool.json, logs/     `runtime`, not accessible to the model
 *   <workspace>/out/workdir/<turn>/files outputs attachments    `files`, OUT_DIR
 *   <workspace>/work                                            `scratch`
 *
 * The successive versions of `files/` are the conversation's lineage. The top folders of `files/` are scopes, one per project; a file at
 * the top is a scope of its own. A turn starts with an empty `files/` and publishes a version: the previous version, in which every scope
 * that the turn checked out or wrote to is replaced by the turn's own.
 */
export interface Workspace {
  readonly files: Files
  readonly scratch: Files
  readonly runtime: Files
  /** Prepares the folder of a turn that starts or is resumed: empty, or as it was left. */
  startTurn(turnId: string): Promise<void>
  /** The version that a turn published: paths below `files/` and their sizes, sorted. Undefined when it published none. */
  version(turnId: string, history: RecordedFiles): Promise<readonly { readonly rel: string; readonly size: number }[] | undefined>
  /**
   * Copies files of a turn into that turn's local folder, read-only; for the running turn only files that are missing. Files that are
   * present with the same content are not fetched.
   */
  hydrate(turnId: string, refs: readonly HydrationRef[], history: RecordedFiles): Promise<Hydration>
  /** Fills `files/` of the turn from the sources, in order, replacing its contents or adding to them. All or nothing. */
  checkout(turnId: string, request: CheckoutRequest, history: RecordedFiles): Promise<CheckoutOutcome>
  /** Stores `files/` of the turn as its version, for later turns. May be repeated until the turn is closed. */
  publish(turnId: string, request: PublishRequest, history: RecordedFiles): Promise<PublishOutcome>
  /** The facts about the workspace that the model is told each round. */
  describe(turnId: string): Promise<AnnouncedWorkspace>
}

/** The files that the journal has recorded: a workspace that stores no bytes itself reads them from here. */
export interface RecordedFiles {
  /** The newest complete bytes at this logical path; never a preview or a diff. */
  bytes(logical: string): Promise<Uint8Array | undefined>
  /** The logical paths of all files of a turn. */
  paths(turnId: string): Promise<readonly string[]>
  /** The record in the publish block of this turn, as parsed but unchecked JSON. */
  manifest(turnId: string): Promise<unknown>
}

/** A file or folder of a turn to fetch into the workspace. */
export interface HydrationRef {
  readonly area: 'files' | 'outputs' | 'attachments'
  /** A file, or in `files` also a folder; '' is the whole area. */
  readonly rel: string
}

/** Which of the requested files are present now. */
export interface Hydration {
  /** Paths are relative to OUT_DIR. */
  readonly present: readonly { readonly ref: HydrationRef; readonly files: readonly { readonly path: string; readonly size: number }[] }[]
  readonly missing: readonly HydrationRef[]
  /** Refs that exist but could not be fetched completely. */
  readonly errors: readonly { readonly ref: HydrationRef; readonly message: string }[]
  /** How many files were fetched; the others were already present. */
  readonly fetched: number
}

/** Which versions a checkout puts into the current turn. */
export interface CheckoutRequest {
  readonly mode: 'replace' | 'overlay'
  /** In order: files of later sources replace those of earlier ones. */
  readonly sources: readonly CheckoutSource[]
  /** Allow the loss of files that the turn wrote itself. */
  readonly force?: boolean
}

/** A folder of the version of a turn. */
export interface CheckoutSource {
  readonly turnId: string
  /** Below `files/`; '' is the whole folder. */
  readonly rel: string
}

/** The result of a checkout; a refused one has changed nothing. */
export type CheckoutOutcome =
  | {
      readonly ok: true
      readonly checkedOut: readonly { readonly source: CheckoutSource; readonly files: number }[]
      /** All sources that the turn has checked out; a replace clears the list first. */
      readonly checkedOutFrom: readonly CheckoutSource[]
      /** The files below `files/`, sorted. */
      readonly files: readonly string[]
    }
  | {
      readonly ok: false
      readonly code: 'missing' | 'nonempty' | 'failed'
      readonly problems: readonly { readonly source?: CheckoutSource; readonly message: string }[]
    }

/** What `publish` is told about earlier versions. */
export interface PublishRequest {
  /** The turn with the latest version according to the journal. An implementation may use its own records instead. */
  readonly previous: string | undefined
}

/** The contents of the `react.workspace.publish` block: `record` is its text, `keeps` the blobs that must live as long as the block. */
export interface PublishOutcome {
  readonly status: 'published' | 'skipped' | 'failed'
  readonly record: PublishRecord
  readonly keeps?: readonly BlobRef[]
}

/** What the journal says about a published version. */
export interface PublishRecord {
  readonly status: PublishOutcome['status']
  readonly turn_id: string
  readonly workspace_implementation: Workspaces['implementation']
  /** True when something changed since the previous version. */
  readonly committed: boolean
  readonly skipped?: true
  /** `workspace_not_materialized` or `empty_workspace`: skipped. `workspace_unchanged`: the version equals the previous one. */
  readonly reason?: string
  readonly version_aliased?: true
  readonly message?: string
  readonly error?: { readonly code: string; readonly message: string }
  readonly [key: string]: unknown
}
