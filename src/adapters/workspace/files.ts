import { filePath } from '../../core/path/build.ts'
import { parsePath } from '../../core/path/logical.ts'
import type { Files } from '../../ports/files.ts'
import type { HydrationRef, RecordedFiles } from '../../ports/workspace.ts'
import { isWithin } from './names.ts'
import { listBelow, readIfSafe } from './turn-files.ts'
import type { StoredFile, VersionStore } from './versions.ts'

/** Files of a turn that a ref means, by path below their area. */
export interface TurnFiles {
  /** Kept by the workspace under a hash, and fetched only when needed. */
  readonly stored: ReadonlyMap<string, StoredFile>
  /** From the journal, or from what lies here and nobody kept. */
  readonly recorded: ReadonlyMap<string, Uint8Array>
  /** Known, but their bytes are nowhere. */
  readonly missing: readonly string[]
}

/** In the version that the turn left, else in what its journal recorded, else in what is still here. */
export async function findTurnFiles(
  turnId: string,
  { area, rel }: HydrationRef,
  { versions, files, history }: { readonly versions: VersionStore; readonly files: Files; readonly history: RecordedFiles },
): Promise<TurnFiles> {
  const version = area === 'files' ? await versions.find(turnId, history) : undefined
  const kept = new Map([...(version ?? [])].filter(([path]) => isWithin(path, rel)))
  if (kept.size > 0) return { stored: kept, recorded: new Map(), missing: [] }

  const wanted = area === 'files' ? isWithin : (path: string, name: string) => path === name
  const known = new Set(relsOf(await history.paths(turnId), area).filter((path) => wanted(path, rel)))
  const here = await listBelow(files, `${turnId}/${area}`)
  for (const path of here.keys()) if (wanted(path, rel)) known.add(path)
  if (rel !== '') known.add(rel) // an exact ref is asked for even when no list names it
  const recorded = new Map<string, Uint8Array>()
  const lost: string[] = []
  for (const path of [...known].sort()) {
    const bytes = (await history.bytes(filePath(turnId, area, path))) ?? (await readLocal(files, `${turnId}/${area}/${path}`))
    if (bytes) recorded.set(path, bytes)
    else if (path !== rel) lost.push(path)
  }
  return { stored: new Map(), recorded, missing: lost }
}

const readLocal = readIfSafe

function relsOf(logical: readonly string[], area: HydrationRef['area']): readonly string[] {
  return logical.flatMap((path) => {
    const parsed = parsePath(path)
    return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.area === area ? [parsed.rel] : []
  })
}
