import type { AnnouncedWorkspace, WorkspaceScope } from '../core/announce/announce.ts'
import type { BlobRef } from '../core/block/index.ts'
import type { Scope } from '../core/scope.ts'
import type { Files } from './files.ts'

/**
 * The local folders for the files of conversations, and the versions of earlier turns. There are two implementations: `custom` stores
 * a manifest per turn, `git` a commit per turn. Both pass testing/conformance/workspace.ts, and tools work with both.
 */
export interface Workspaces {
  readonly implementation: 'custom' | 'git'
  /** Opens the folders of a conversation, which are the same each time. Creates nothing on disk before the first write. */
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
 * The successive versions of `files/` are the conversation's lineage. Each folder and each file directly below `files/` is a scope; a
 * folder usually holds one project. A turn starts with an empty `files/`. At its end it publishes a version. Scopes that the turn checked out
 * whole are in it exactly as the turn left them. In all other scopes the turn's files are laid over those of the previous version, and
 * only files are deleted that the turn's folder has held, because they were checked out or a tool wrote them.
 */
export interface Workspace {
  readonly files: Files
  readonly scratch: Files
  readonly runtime: Files
  /** Prepares the folder of a turn. It is empty when the turn starts. When the turn is resumed, the folder is as the turn left it. */
  startTurn(turnId: string): Promise<void>
  /** The files of the version that a turn published, sorted by path below `files/`. Undefined when it published none. */
  version(turnId: string, history: RecordedFiles): Promise<readonly { readonly rel: string; readonly size: number }[] | undefined>
  /**
   * The bytes of a file in the version of a turn. `missing` when the version has no such file, and undefined when the turn has no version.
   * Throws `workspace.failed` with `workspace_version_unavailable` in `details.code` when the version can not be reached.
   */
  readVersion(turnId: string, rel: string, history: RecordedFiles): Promise<Uint8Array | 'missing' | undefined>
  /**
   * Fetches files of a turn into that turn's local folder. Files of earlier turns become read-only there; those that are present with the
   * same content are not fetched again. In the running turn only missing files are fetched.
   */
  hydrate(turnId: string, refs: readonly HydrationRef[], history: RecordedFiles): Promise<Hydration>
  /** Copies all sources, in order, or none into `files/` of the turn. The mode says whether they replace its contents or are added. */
  checkout(turnId: string, request: CheckoutRequest, history: RecordedFiles): Promise<CheckoutOutcome>
  /** Stores `files/` of the turn as the turn's version, for later turns. It may be called again until the turn is closed. */
  publish(turnId: string, request: PublishRequest, history: RecordedFiles): Promise<PublishOutcome>
  /**
   * Removes the folders of all turns that have left a version from this machine, also those into which files were pulled. Called after a turn is
   * closed. The folder of a turn without a version stays, because it may hold the only copy.
   */
  removeFinished(history: RecordedFiles): Promise<void>
  /** Tells the workspace that a program ran and may have changed any file of the running turn. The next `describe` lists the files. */
  programRan(): void
  /**
   * The facts about the workspace that the model is told each round. The time does not depend on the number of files, unless a program has
   * run since the last call.
   */
  describe(turnId: string): Promise<AnnouncedWorkspace>
}

/** The files that the journal has recorded. A workspace that stores no bytes itself reads them through this. */
export interface RecordedFiles {
  /** The newest complete bytes at this logical path; never a preview or a diff. */
  bytes(logical: string): Promise<Uint8Array | undefined>
  /** The logical paths of all files of a turn. */
  paths(turnId: string): Promise<readonly string[]>
  /** The logical paths of the files that tools have made in a turn: written, patched, or promised by the contract of a program. */
  made(turnId: string): Promise<readonly string[]>
  /** The record in the publish block of this turn, as parsed but unchecked JSON. */
  manifest(turnId: string): Promise<unknown>
}

/** Names a file or folder of a turn to fetch into the workspace. */
export interface HydrationRef {
  /** One of the three folders of a turn. */
  readonly area: 'files' | 'outputs' | 'attachments'
  /** The path of a file below the area. In `files` it may also be a folder. '' is the whole area. */
  readonly rel: string
}

/** The result of fetching refs: which of the requested files are present now. */
export interface Hydration {
  /** Paths are relative to OUT_DIR. */
  readonly present: readonly { readonly ref: HydrationRef; readonly files: readonly { readonly path: string; readonly size: number }[] }[]
  /** Refs for which no file was found: the turn has no version and has recorded no such file, or its version has no such path. */
  readonly missing: readonly HydrationRef[]
  /**
   * Refs whose files could not all be fetched, for example because the disk is full. With the code, the turn has a version that can not be
   * reached completely. Then no file of the ref is present.
   */
  readonly errors: readonly { readonly ref: HydrationRef; readonly message: string; readonly code?: 'workspace_version_unavailable' }[]
  /** How many files were fetched; the others were already present. */
  readonly fetched: number
}

/** Which versions a checkout puts into the current turn. */
export interface CheckoutRequest {
  readonly mode: 'replace' | 'overlay'
  /** Files of later sources replace files of earlier ones. */
  readonly sources: readonly CheckoutSource[]
  /** Whether files that the turn wrote itself may be lost. */
  readonly force?: boolean
}

/** A folder of the version of a turn. */
export interface CheckoutSource {
  readonly turnId: string
  /** The path of the folder below `files/`; '' is the whole version. */
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
      /** `unavailable`: a source has a version that can not be reached completely. */
      readonly code: 'missing' | 'nonempty' | 'unavailable' | 'failed'
      readonly problems: readonly { readonly source?: CheckoutSource; readonly message: string }[]
    }

/** What `publish` is told about earlier versions. */
export interface PublishRequest {
  /** The turn with the latest version according to the journal. An implementation may use its own records instead. */
  readonly previous: string | undefined
}

/** The result of `publish`, for the block `react.workspace.publish`: `record` is its text, and `keeps` lists blobs that it must keep. */
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
  /**
   * Why no new version was stored. `workspace_not_materialized` and `empty_workspace`: publishing was skipped.
   * `workspace_unchanged`: the version equals the previous one.
   */
  readonly reason?: string
  readonly version_aliased?: true
  /** The top-level folders of the version, for the announcement of later turns. */
  readonly scopes?: readonly WorkspaceScope[]
  /** What the version does not have because of its name, such as `app/node_modules`. */
  readonly left_out?: readonly WorkspaceScope[]
  /** The turn with the version before, if that version can not be reached. Then this version has only files of its own turn. */
  readonly parent_unavailable?: string
  readonly message?: string
  readonly error?: { readonly code: string; readonly message: string }
  readonly [key: string]: unknown
}
