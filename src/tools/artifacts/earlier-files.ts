import { Failure } from '../../core/failure.ts'
import { isObject } from '../../core/json.ts'
import type { FilePath } from '../../core/path/logical.ts'
import type { Workspace } from '../../ports/workspace.ts'
import type { Call } from '../tool.ts'
import { historyOf } from './history.ts'

/**
 * The bytes of a file as they were at the end of its turn, or why they can not be read. `missing`: the version of the turn does not contain
 * the file. `unavailable`: the version can not be fetched.
 */
export type LeftFile = Uint8Array | 'missing' | 'unavailable'

const maxFileBytes = 100 * 1024 * 1024

/**
 * Reads a file in `files/` of an earlier turn from the version that the earlier turn published. Undefined when that turn has no version or
 * the agent has no workspace. The caller then reads the file from the workspace or from the journal.
 */
export async function readLeftFile({ turn, area, rel }: FilePath, call: Call): Promise<LeftFile | undefined> {
  const history = historyOf(call)
  if (area !== 'files' || turn === call.origin.turnId || !isObject(await history.manifest(turn))) return undefined
  const workspace = await workspaceIfAny(call)
  try {
    return await workspace?.readVersion(turn, rel, history)
  } catch (error) {
    if (error instanceof Failure && error.details.code === 'workspace_version_unavailable') return 'unavailable'
    throw error
  }
}

/** The workspace of the conversation. Undefined when the agent has no workspace. */
export async function workspaceIfAny(call: Pick<Call, 'workspace'>): Promise<Workspace | undefined> {
  try {
    return await call.workspace()
  } catch (error) {
    if (error instanceof Failure && error.code === 'workspace.missing') return undefined
    throw error
  }
}

/** The bytes of a file. Undefined when it is missing, a link, a device or too large. */
export async function readSafely({ files }: Workspace, physical: string): Promise<Uint8Array | undefined> {
  try {
    return await files.read(physical, { maxBytes: maxFileBytes })
  } catch (error) {
    if (error instanceof Failure && error.code === 'file.unsafe') return undefined
    throw error
  }
}

/** Whether there is no file at this path. False for a file that exists but is not safe to open, such as a link. */
export async function isAbsent({ files }: Workspace, physical: string): Promise<boolean> {
  try {
    return (await files.stat(physical)) === undefined
  } catch (error) {
    if (error instanceof Failure && error.code === 'file.unsafe') return false
    throw error
  }
}
