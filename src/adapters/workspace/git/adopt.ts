import { Failure } from '../../../core/failure.ts'
import type { PublishedVersion, RecordedFiles } from '../../../ports/workspace.ts'
import { hasManifest } from '../custom/export.ts'
import type { CustomVersions } from '../custom/versions.ts'
import { isVersionUnavailable } from '../files.ts'
import { readHead } from './base.ts'
import { gitBlobHash, type Lineage, type Origin } from './lineage.ts'
import { commitVersion } from './publish.ts'

interface AdoptContext {
  readonly lineage: Lineage
  readonly origin: Origin | undefined
  /** The versions that are manifests in the journal. */
  readonly manifests: CustomVersions
}

/**
 * Commits a version that is a manifest in the journal, so that the next version can be based on it. If the version can not be read, it
 * commits nothing, and the next publish records that the version is unavailable.
 */
export async function adoptVersion(
  { turn_id: turnId, ts }: PublishedVersion,
  history: RecordedFiles,
  { lineage, origin, manifests }: AdoptContext,
): Promise<void> {
  if (!hasManifest(await history.manifest(turnId))) return
  await lineage.prepare()
  const ref = lineage.refs.version(turnId)
  if ((await lineage.commitOf(ref)) !== undefined) return
  await origin?.fetchVersion(turnId) // another machine may have committed this version
  if ((await lineage.commitOf(ref)) !== undefined) return
  const contents = await readManifest(turnId, history, manifests)
  if (!contents) return
  const hashes = new Map([...contents].map(([rel, bytes]) => [rel, gitBlobHash(bytes)]))
  const byHash = new Map([...contents.values()].map((bytes) => [gitBlobHash(bytes), bytes]))
  await commitVersion({ lineage, origin }, turnId, {
    version: hashes,
    base: await readHead(lineage),
    contents: byHash,
    now: Date.parse(ts),
  })
}

/** The bytes of all files of a version. Undefined when some of them can not be read. */
async function readManifest(turnId: string, history: RecordedFiles, manifests: CustomVersions) {
  try {
    const version = await manifests.find(turnId, history)
    const contents = version && (await manifests.read(version, history))
    return contents?.size === version?.size ? contents : undefined
  } catch (error) {
    if (error instanceof Failure && isVersionUnavailable(error)) return undefined
    throw error
  }
}
