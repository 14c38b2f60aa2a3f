import type { RecordedFiles } from '../../ports/workspace.ts'

/** What one file of a version is known by, where it is kept. */
export interface StoredFile {
  readonly size: number
  readonly hash: string
  /** The turn whose journal holds the bytes, where nobody else does. */
  readonly recorded?: string
}

/** By path below `files/`. */
export type Version = ReadonlyMap<string, StoredFile>

/** Where a kind of workspace keeps what turns left behind. */
export interface VersionStore {
  /** Undefined when the turn left none. */
  find(turnId: string, history: RecordedFiles): Promise<Version | undefined>
  /** By path; without those that are gone. */
  read(files: Version, history: RecordedFiles): Promise<ReadonlyMap<string, Uint8Array>>
  /** The name under which these bytes would be kept. */
  hashOf(bytes: Uint8Array): string
}
