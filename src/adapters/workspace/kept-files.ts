import { parsePath } from '../../core/path/logical.ts'
import type { RecordedFiles } from '../../ports/workspace.ts'
import type { CheckoutRecord } from './checkout.ts'
import { isExcluded } from './names.ts'

/** Says which files of a turn belong into its version. */
export interface KeptFiles {
  /** The paths below `files/` that tools have made in this turn. Their names never exclude them. */
  readonly made: ReadonlySet<string>
  has(rel: string): boolean
}

/**
 * The excluded names are meant for files that programs leave behind. A file of such a name is kept if a tool has made it on purpose, or if the
 * turn has checked it out: then it was kept before.
 */
export async function findKeptFiles(turnId: string, history: RecordedFiles, checkedOut: CheckoutRecord | undefined): Promise<KeptFiles> {
  const made = new Set((await history.made(turnId)).flatMap(relOf))
  return { made, has: (rel) => !isExcluded(rel) || made.has(rel) || checkedOut?.laid.has(rel) === true }
}

function relOf(logical: string): readonly string[] {
  const path = parsePath(logical)
  return path?.space === 'fi' && path.kind === 'file' && path.area === 'files' ? [path.rel] : []
}
