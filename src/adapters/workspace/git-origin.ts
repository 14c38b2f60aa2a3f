import { Failure } from '../../core/failure.ts'
import type { Lineage } from './git/lineage.ts'
import { outputText } from './git/run.ts'

/** Another repository that the mirrors of several machines share. */
export interface Origin {
  /** Brings the branch here as it is there. */
  fetchBranch(): Promise<void>
  /** Asked once for each turn. False when the origin does not have it. */
  fetchVersion(turnId: string): Promise<boolean>
  /** Both refs or none, and the branch only from `head`. False when it was elsewhere: then it has been fetched. */
  push(turnId: string, commit: string, head: string | undefined): Promise<boolean>
  /** Branch and versions are there no more. */
  forget(): Promise<void>
}

export function createOrigin(lineage: Lineage, remote: string): Origin {
  const { git, refs } = lineage
  const absent = new Set<string>()

  async function has(ref: string): Promise<boolean> {
    return (await git(['ls-remote', '--refs', '--', remote, ref])).length > 0
  }
  const fetch = (ref: string) => git(['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--', remote, `+${ref}:${ref}`])

  const origin: Origin = {
    async fetchBranch() {
      if (await has(refs.branch)) await fetch(refs.branch)
    },
    async fetchVersion(turnId) {
      if (absent.has(turnId)) return false
      const found = await has(refs.version(turnId))
      if (found) await fetch(refs.version(turnId))
      else absent.add(turnId)
      return found
    },
    async push(turnId, commit, head) {
      const lease = `--force-with-lease=${refs.branch}:${head ?? ''}`
      try {
        await git(['push', '--quiet', '--atomic', lease, '--', remote, `${commit}:${refs.branch}`, `+${commit}:${refs.version(turnId)}`])
        return true
      } catch (error) {
        if (!(error instanceof Failure) || !/stale info|rejected|fetch first|cannot lock ref/.test(error.message)) throw error
        await origin.fetchBranch()
        return false
      }
    },
    async forget() {
      const listed = outputText(await git(['ls-remote', '--refs', '--', remote, refs.branch, `${refs.versions}*`]))
      const isOurs = (ref: string) => ref === refs.branch || ref.startsWith(refs.versions)
      const found = listed
        .split('\n')
        .flatMap((line) => line.split('\t')[1] ?? [])
        .filter(isOurs)
      if (found.length > 0) await git(['push', '--quiet', '--', remote, ...found.map((ref) => `:${ref}`)])
    },
  }
  return origin
}
