import type { AnnouncedWorkspace, WorkspaceScope } from '../core/announce/workspace-section.ts'
import type { BlobRef } from '../core/block/index.ts'
import type { Scope, UserOrTenant } from '../core/scope.ts'
import type { Files, UnsafeFileReason } from './files.ts'

/**
 * Opens the workspaces of conversations. There are two implementations, which store the versions differently. `custom` stores a manifest
 * per turn, that is a list of files with their hashes. `git` stores a commit per turn. Both pass testing/conformance/workspace, and the
 * tools need not know which one is used.
 */
export interface Workspaces {
  readonly implementation: 'custom' | 'git'
  /** Opens the folders of a conversation. Opening again gives the same folders. Nothing is created on disk before the first write. */
  open(owner: Scope, conversationId: string): Promise<Workspace>
  /**
   * False if it is known, without opening the workspace, that the conversation has no files on this machine. Without this function, a
   * workspace is opened to find out.
   */
  mayHaveFiles?(owner: Scope, conversationId: string): boolean
  /**
   * Removes the folders of a conversation on this machine, and what the implementation stores in other places, such as a remote repository.
   */
  remove(owner: Scope, conversationId: string): Promise<void>
  /** How many files the folders of a conversation have on this machine. Receipts of deletions have this number. */
  count?(owner: Scope, conversationId: string): Promise<number>
  /** Removes the empty folders that are named after a user or tenant. */
  removeFolders?(owner: UserOrTenant): Promise<void>
}

/**
 * The folders of one conversation:
 *
 *   <workspace>/out/timeline.json, sources_pool.json, logs/     `runtime`, not accessible to the model
 *   <workspace>/out/workdir/<turn>/files outputs attachments    `files`, OUT_DIR
 *   <workspace>/work                                            `scratch`
 *
 * In all comments, OUT_DIR is the folder that contains the folders of the turns. Each folder and each file directly below `files/` is a
 * scope. A folder usually contains one project. A turn starts with an empty `files/`. At its end it publishes `files/` as a version. The
 * versions of successive turns are called the lineage of the conversation. If the turn checked out a whole scope, the version has this
 * scope exactly as the turn left it. In every other scope, the version has the files of the previous version, and the turn's files replace
 * those with the same path. Such a scope loses only files that the turn deleted from its folder. A file of the previous version is in the
 * folder of the turn only if it was checked out or written again.
 */
export interface Workspace {
  readonly files: Files
  readonly scratch: Files
  readonly runtime: Files
  /**
   * Makes the latest version of the conversation the base of the next version. This is needed if this workspace has not stored the latest
   * version itself: in a fork, after an import, or when another kind of workspace was used before. `previous` returns the latest version.
   * Called before `startTurn`.
   */
  adoptVersion(previous: () => Promise<PublishedVersion | undefined>, history: RecordedFiles): Promise<void>
  /** Prepares the folder of a turn. For a new turn the folder is empty. For a resumed turn it has the files that the turn wrote before. */
  startTurn(turnId: string): Promise<void>
  /** The files of the version that a turn published, sorted by path below `files/`. Undefined when the turn published no version. */
  version(turnId: string, history: RecordedFiles): Promise<readonly { readonly rel: string; readonly size: number }[] | undefined>
  /**
   * The bytes of a file in the version of a turn. Returns `missing` when the version has no such file. Undefined when the turn has no
   * version. If the version can not be reached, throws `workspace.failed` with `workspace_version_unavailable` in `details.code`.
   */
  readVersion(turnId: string, rel: string, history: RecordedFiles): Promise<Uint8Array | 'missing' | undefined>
  /**
   * Fetches files of a turn into the folder of this turn on this machine. Files of an earlier turn become read-only. A file that is already
   * in the folder with the same content is not fetched again. For the running turn, a file is fetched only if it is missing.
   */
  hydrate(turnId: string, refs: readonly HydrationRef[], history: RecordedFiles): Promise<Hydration>
  /**
   * Copies all requested sources into `files/` of the turn, in order, or none of them. With the mode `replace`, `files/` then has only
   * these files. With `overlay`, they are added to the files in `files/`.
   */
  checkout(turnId: string, request: CheckoutRequest, history: RecordedFiles): Promise<CheckoutOutcome>
  /**
   * The versions of these turns as manifests, which every kind of workspace can read from a journal. Leaves out versions that are already
   * stored as manifests, and versions that the workspace does not have any more. Calls `put` with the bytes of each file. Throws when a
   * version can not be reached at the moment.
   */
  exportVersions(
    turnIds: readonly string[],
    history: RecordedFiles,
    put: (bytes: Uint8Array) => Promise<BlobRef>,
  ): Promise<ReadonlyMap<string, ExportedVersion>>
  /** Stores `files/` of the turn as its version, for later turns. May be called several times, until the turn is closed. */
  publish(turnId: string, request: PublishRequest, history: RecordedFiles): Promise<PublishOutcome>
  /**
   * Removes the folders of two kinds of turns from this machine: turns that have a version, and turns without files and outputs. This
   * includes folders of earlier turns into which files were pulled. Called after a turn is closed. The folder of another turn without a
   * version stays, because it may contain the only copy of its files.
   */
  removeFinished(history: RecordedFiles): Promise<void>
  /** Removes the folder of a turn from this machine. */
  removeTurn(turnId: string): Promise<void>
  /**
   * Runs `use` with the folders of the workspace on disk, so that a program can work in them. If the files of the workspace are in memory,
   * they are copied to a temporary folder first, except those in subfolders of `runtime`. Afterwards the files of this turn and of
   * `scratch` are copied back, even if `use` throws.
   * Throws `workspace.failed` if the workspace has no folders on disk and can not copy its files there.
   */
  onDisk<T>(turnId: string, use: (folders: DiskFolders) => Promise<T>): Promise<T>
  /**
   * Tells the workspace that a program ran and may have changed any file of the running turn. The next `describe` therefore lists the
   * folder again.
   */
  programRan(): void
  /**
   * The state of the workspace for the announce of each round. If a program ran since the last call, the folder is listed again. Otherwise
   * the duration does not depend on the number of files.
   */
  describe(turnId: string): Promise<AnnouncedWorkspace>
}

/** The folders of a workspace on disk. */
export interface DiskFolders {
  /** The absolute path of OUT_DIR. */
  readonly out: string
  /** The absolute path of the folder `scratch`. */
  readonly work: string
  /** The absolute path of the folder `runtime`. */
  readonly runtime: string
  /** The files below `out`. Reading them through this object finds links and devices that a program has left, and refuses them. */
  readonly files: Files
}

/** A version that is recorded in the journal: its turn, and the time of its publish in the form of ISO 8601. */
export interface PublishedVersion {
  readonly turn_id: string
  readonly ts: string
}

/** The files that the journal has recorded. The `custom` workspace stores no bytes itself and reads them with these functions. */
export interface RecordedFiles {
  /**
   * The newest complete bytes at this logical path. Blocks that have only a preview or a diff of the file are ignored. Undefined when no
   * bytes are recorded.
   */
  bytes(logical: string): Promise<Uint8Array | undefined>
  /** The blob with the newest complete bytes at this logical path. Undefined when these bytes are not in a blob. */
  blob?(logical: string): Promise<BlobRef | undefined>
  /** The logical paths of all files of a turn. */
  paths(turnId: string): Promise<readonly string[]>
  /**
   * The logical paths of the files that tools made in a turn. These are files that were written, patched, or named by the contract of a
   * program.
   */
  made(turnId: string): Promise<readonly string[]>
  /** The text of the block `react.workspace.publish` of this turn, parsed as JSON. Its shape is not checked. */
  manifest(turnId: string): Promise<unknown>
  /**
   * The hashes in `keeps` of the block `react.workspace.publish` of this turn. A manifest in an imported journal may name any hash. Only
   * blobs with one of these hashes belong to the version.
   */
  keeps(turnId: string): Promise<ReadonlySet<string>>
  /** Whether the journal has entries of this turn. A retention policy may have removed all entries of an old turn. */
  hasTurn(turnId: string): Promise<boolean>
}

/** A file or folder of a turn that `hydrate` fetches. */
export interface HydrationRef {
  /** The folder of the turn in which the file is. */
  readonly area: 'files' | 'outputs' | 'attachments'
  /** The path below the folder `area`. It names a file, or in `files` also a folder. `''` means all files of `area`. */
  readonly rel: string
}

/** What `hydrate` did for each ref. */
export interface Hydration {
  /** The files that are now on this machine, for each ref. Their paths are relative to OUT_DIR, the folder with the turns. */
  readonly present: readonly { readonly ref: HydrationRef; readonly files: readonly { readonly path: string; readonly size: number }[] }[]
  /**
   * Refs for which there is no file. The version of the turn has no such path, or the turn has no version and has recorded no such file.
   */
  readonly missing: readonly HydrationRef[]
  /**
   * Refs for which a file could not be fetched, for example because the disk is full. The code `workspace_version_unavailable` means that
   * the version of the turn can not be reached completely. In this case no file of the ref is present.
   */
  readonly errors: readonly { readonly ref: HydrationRef; readonly message: string; readonly code?: 'workspace_version_unavailable' }[]
  /** How many files were fetched. Files that were already present are not counted. */
  readonly fetched: number
}

/** What a checkout copies into `files/` of the running turn. */
export interface CheckoutRequest {
  readonly mode: 'replace' | 'overlay'
  /**
   * The sources, in the order in which they are copied. If two sources have a file with the same path, the file of the later source is
   * used.
   */
  readonly sources: readonly CheckoutSource[]
  /** True when the checkout may overwrite or remove files that the turn wrote itself. */
  readonly force?: boolean
}

/** A folder in the version of a turn. */
export interface CheckoutSource {
  readonly turnId: string
  /** The path of the folder below `files/`. `''` means the whole version. */
  readonly rel: string
}

/** The result of a checkout. A checkout with `ok: false` has changed no file. */
export type CheckoutOutcome =
  | {
      readonly ok: true
      readonly checkedOut: readonly { readonly source: CheckoutSource; readonly files: number }[]
      /** All sources that the turn has checked out so far. A checkout with the mode `replace` removes the earlier ones from this list. */
      readonly checkedOutFrom: readonly CheckoutSource[]
      /** The paths of all files that are now below `files/`, sorted. */
      readonly files: readonly string[]
    }
  | {
      readonly ok: false
      /**
       * `missing`: the turn of a source has no such files. `nonempty`: the checkout would remove files that this turn wrote, or files that
       * can not be read, such as hard links, and `force` is not set. `unavailable`: the version of a source can not be reached completely.
       * `failed`: any other error.
       */
      readonly code: 'missing' | 'nonempty' | 'unavailable' | 'failed'
      readonly problems: readonly { readonly source?: CheckoutSource; readonly message: string }[]
    }

/** The time of a publish, and the version that came before. */
export interface PublishRequest {
  /** The time of the new version, in the form of ISO 8601. */
  readonly at: string
  /** The turn with the latest version according to the journal. An implementation may use its own records instead of this value. */
  readonly previous: string | undefined
}

/**
 * The result of `publish`, from which the block `react.workspace.publish` is made. `record` becomes its text. `keeps` lists the blobs of
 * the version, which must stay stored as long as this block exists.
 */
export interface PublishOutcome {
  readonly status: 'published' | 'skipped' | 'failed'
  readonly record: PublishRecord
  readonly keeps?: readonly BlobRef[]
}

/**
 * A version for the block `react.workspace.publish` of a copied conversation. In the text of the block, `fields` replaces the fields that
 * say where the original version is stored.
 */
export interface ExportedVersion {
  readonly fields: Pick<PublishRecord, 'workspace_implementation'> & { readonly files: number; readonly manifest: unknown }
  readonly keeps: readonly BlobRef[]
}

/** The text of the block `react.workspace.publish`, as JSON. */
export interface PublishRecord {
  readonly status: PublishOutcome['status']
  readonly turn_id: string
  readonly workspace_implementation: Workspaces['implementation']
  /** True when the version differs from the previous one. */
  readonly committed: boolean
  readonly skipped?: true
  /**
   * Why no new version was stored. `workspace_not_materialized` and `empty_workspace` mean that publishing was skipped.
   * `workspace_unchanged` means that the version equals the previous one.
   */
  readonly reason?: string
  readonly version_aliased?: true
  /** The scopes of the version, for the announce of later turns. */
  readonly scopes?: readonly WorkspaceScope[]
  /**
   * Files and folders that were not stored in the version because of their name, such as `app/node_modules`, or because a `.gitignore`
   * names them. With a `reason`, they can not be stored, for example because they are links.
   */
  readonly left_out?: readonly (WorkspaceScope & { readonly reason?: UnsafeFileReason })[]
  /** How many more items `left_out` would have without its limit. */
  readonly left_out_more?: number
  /** The turn with the previous version, if that version can not be reached. The new version then has only files of its own turn. */
  readonly parent_unavailable?: string
  readonly message?: string
  readonly error?: { readonly code: string; readonly message: string }
  readonly [key: string]: unknown
}
