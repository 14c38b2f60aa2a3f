import { filePath } from '../../core/path/build.ts'
import { parsePath } from '../../core/path/logical.ts'
import type { Files } from '../../ports/files.ts'
import type { History, HydrationRef } from '../../ports/workspace.ts'
import { isWithin } from './names.ts'
import { filesBelow, readSafely } from './turn-files.ts'
import type { Kept, Versions } from './versions.ts'

/** Files of a turn that a ref means, by path below their area. */
export interface Found {
  /** Kept by the workspace under a hash, and fetched only when needed. */
  readonly kept: ReadonlyMap<string, Kept>
  /** From the journal, or from what lies here and nobody kept. */
  readonly recorded: ReadonlyMap<string, Uint8Array>
  /** Known, but their bytes are nowhere. */
  readonly lost: readonly string[]
}

/** In the version that the turn left, else in what its journal recorded, else in what is still here. */
export async function findFiles(
  turnId: string,
  { area, rel }: HydrationRef,
  { versions, files, history }: { readonly versions: Versions; readonly files: Files; readonly history: History },
): Promise<Found> {
  const version = area === 'files' ? await versions.find(turnId, history) : undefined
  const kept = new Map([...(version ?? [])].filter(([path]) => isWithin(path, rel)))
  if (kept.size > 0) return { kept, recorded: new Map(), lost: [] }

  const wanted = area === 'files' ? isWithin : (path: string, name: string) => path === name
  const known = new Set(relsOf(await history.paths(turnId), area).filter((path) => wanted(path, rel)))
  const here = await filesBelow(files, `${turnId}/${area}`)
  for (const path of here.keys()) if (wanted(path, rel)) known.add(path)
  if (rel !== '') known.add(rel) // an exact ref is asked for even when no list names it
  const recorded = new Map<string, Uint8Array>()
  const lost: string[] = []
  for (const path of [...known].sort()) {
    const bytes = (await history.bytes(filePath(turnId, area, path))) ?? (await readLocal(files, `${turnId}/${area}/${path}`))
    if (bytes) recorded.set(path, bytes)
    else if (path !== rel) lost.push(path)
  }
  return { kept: new Map(), recorded, lost }
}

const readLocal = readSafely

function relsOf(logical: readonly string[], area: HydrationRef['area']): readonly string[] {
  return logical.flatMap((path) => {
    const parsed = parsePath(path)
    return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.area === area ? [parsed.rel] : []
  })
}
