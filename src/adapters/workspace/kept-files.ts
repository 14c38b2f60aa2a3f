import { parsePath } from '../../core/path/logical.ts'
import type { RecordedFiles } from '../../ports/workspace.ts'
import type { CheckoutRecord } from './checkout.ts'
import { isExcluded } from './names.ts'

/** Decides which files of a turn its version will contain. */
export interface KeptFiles {
  /** The paths below `files/` of files that tools made in this turn. The version contains them, even if their names are excluded. */
  readonly made: ReadonlySet<string>
  /** The paths that are kept even if their names are excluded: files of tools, and files that the turn has checked out. */
  readonly always: ReadonlySet<string>
  has(rel: string): boolean
}

/**
 * Finds the files of a turn that its version will contain. Files with an excluded name usually are by-products of programs and are left
 * out. A file with such a name is kept if a tool made it, or if the turn has checked it out.
 */
export async function findKeptFiles(turnId: string, history: RecordedFiles, checkedOut: CheckoutRecord | undefined): Promise<KeptFiles> {
  const made = new Set((await history.made(turnId)).flatMap(relOf))
  const always = new Set([...made, ...(checkedOut?.laid.keys() ?? [])])
  return { made, always, has: (rel) => !isExcluded(rel) || always.has(rel) }
}

function relOf(logical: string): readonly string[] {
  const path = parsePath(logical)
  return path?.space === 'fi' && path.kind === 'file' && path.area === 'files' ? [path.rel] : []
}
