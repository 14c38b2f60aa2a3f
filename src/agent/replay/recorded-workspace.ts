import type { Block } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { blocksOfChange } from '../../core/timeline/change.ts'
import type { PublishOutcome, Workspace } from '../../ports/workspace.ts'
import type { Turn } from '../turn/turn.ts'
import type { Recording } from './recording.ts'

/** The files of a turn, as far as the record knows of them: that they were published, and with what success. */
export function recordedWorkspace({ entries }: Recording): Pick<Turn, 'workspaceHandle' | 'workspace'> {
  const block = entries.flatMap(({ change }) => blocksOfChange(change)).find(({ type }) => type === 'react.workspace.publish')
  const published = block && publishedIn(block)
  const gone = async (): Promise<never> => {
    throw new Failure('workspace.missing', 'a replay has no files')
  }
  const workspace: Pick<Workspace, 'publish' | 'describe'> = { publish: async () => published ?? gone(), describe: gone }
  return {
    workspaceHandle: { isOpen: () => published !== undefined, implementation: published?.record.workspace_implementation },
    workspace: async () => workspace as Workspace, // tools do not run, and the loop asks for nothing else
  }
}

function publishedIn(block: Block): PublishOutcome | undefined {
  const record = parseJson(block.text)
  if (!isObject(record) || typeof record.status !== 'string') return undefined
  const { keeps } = block.meta ?? {}
  const whole = record as unknown as PublishOutcome['record'] // it was one when it was entered
  return { status: whole.status, record: whole, ...(Array.isArray(keeps) && { keeps: keeps as NonNullable<PublishOutcome['keeps']> }) }
}
