import type { History } from '../../ports/workspace.ts'

/** What one file of a version is known by, where it is kept. */
export interface Kept {
  readonly size: number
  readonly hash: string
  /** The turn whose journal holds the bytes, where nobody else does. */
  readonly recorded?: string
}

/** By path below `files/`. */
export type Version = ReadonlyMap<string, Kept>

/** Where a kind of workspace keeps what turns left behind. */
export interface Versions {
  /** Undefined when the turn left none. */
  find(turnId: string, history: History): Promise<Version | undefined>
  /** By path; without those that are gone. */
  read(files: Version, history: History): Promise<ReadonlyMap<string, Uint8Array>>
  /** The name under which these bytes would be kept. */
  hashOf(bytes: Uint8Array): string
}
