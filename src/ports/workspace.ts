import type { Workspace as WorkspaceFacts } from '../core/announce/workspace.ts'
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
  forget(owner: Scope, conversation: string): Promise<void>
}

/**
 *   <workspace>/out/timeline.json, sources_pool.json, logs/     `runtime`, nothing the model can name
 *   <workspace>/out/workdir/<turn>/files outputs attachments    `files`, OUT_DIR
 *   <workspace>/work/                                           `scratch`
 */
export interface Workspace {
  readonly files: Files
  readonly scratch: Files
  readonly runtime: Files
  /** A turn begins, or is taken up again: its root is as it was left, or empty. */
  begin(turnId: string): Promise<void>
  /** Paths below `files/` that a turn had when it was published, and their sizes. Undefined when it never was. */
  version(turnId: string, history: History): Promise<readonly { readonly rel: string; readonly size: number }[] | undefined>
  /** Brings files of another turn here, read-only, under that turn's root. What is already here with the same content is not fetched. */
  hydrate(turnId: string, rels: readonly HydrationRef[], history: History): Promise<Hydration>
  /** `files/` of the turn becomes the sources laid over each other, or over what it holds. All or nothing. */
  checkout(turnId: string, mode: 'replace' | 'overlay', sources: readonly CheckoutSource[], history: History): Promise<CheckoutOutcome>
  /** What the turn made of `files/` is kept for later turns. Safe to repeat. */
  publish(turnId: string, history: History): Promise<Published>
  /** For the announcement. */
  describe(turnId: string): Promise<WorkspaceFacts>
}

/** What the journal knows of files: a workspace that keeps no bytes of its own finds them through it. */
export interface History {
  /** The newest bytes that were recorded at this logical path, whatever recorded them; never a preview, never a diff. */
  bytes(logical: string): Promise<Uint8Array | undefined>
  /** Logical paths of every file recorded in a turn. */
  paths(turnId: string): Promise<readonly string[]>
  /** The manifest that a publish of this turn left in its block. */
  manifest(turnId: string): Promise<unknown>
}

export interface HydrationRef {
  readonly area: 'files' | 'outputs' | 'attachments'
  /** A file, or, in `files`, a folder; '' is all of it. */
  readonly rel: string
}

export interface Hydration {
  /** Relative to OUT_DIR. */
  readonly present: readonly { readonly ref: HydrationRef; readonly files: readonly { readonly path: string; readonly size: number }[] }[]
  readonly missing: readonly HydrationRef[]
  readonly errors: readonly { readonly ref: HydrationRef; readonly message: string }[]
  /** How many were brought here now; the rest was already here. */
  readonly fetched: number
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
      readonly files: readonly string[]
    }
  | {
      readonly ok: false
      readonly code: 'missing' | 'nonempty' | 'failed'
      readonly problems: readonly { readonly source: CheckoutSource; readonly message: string }[]
    }

/** What goes into the `react.workspace.publish` block: `record` is its text, `keeps` the bytes that must live as long as it does. */
export interface Published {
  readonly status: 'published' | 'skipped' | 'failed'
  readonly record: Readonly<Record<string, unknown>>
  readonly keeps?: readonly BlobRef[]
}
