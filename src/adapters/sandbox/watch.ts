import { existsSync } from 'node:fs'
import type { ProgramEnd, SandboxLimits } from '../../ports/sandbox.ts'
import { inside } from './layout.ts'
import type { SandboxProcess } from './process.ts'
import { readUsage, unnamedFileBytes } from './usage.ts'
import { addTotals, type FolderTotals, maxDepth, walkFolder } from './walk.ts'

type LimitReached = Extract<ProgramEnd, { kind: 'limit' }>

/** Watches the limits that the kernel does not enforce: the memory of all processes together, and how much the folders grow. */
export interface Watch {
  stop(): void
}

const memoryPollMs = 100
const folderPollMs = 250

/** Whether bubblewrap has built the sandbox. Before that, the root folder of the first process is still the root folder of this machine. */
const isReady = (root: string) => existsSync(`${root}${inside.token}`)

/** Calls `onLimit` at most once, when a program uses more than it may. `before` are the totals of its folders when it started. */
export function watchProgram(
  { firstPid }: SandboxProcess,
  folders: readonly string[],
  before: FolderTotals,
  limits: SandboxLimits,
  onLimit: (reached: LimitReached) => void,
): Watch {
  let stopped = false
  const stop = () => {
    stopped = true
  }
  const report = (reached: LimitReached | undefined) => {
    if (!reached || stopped) return
    stop()
    onLimit(reached)
  }

  async function checkMemory(root: string): Promise<void> {
    const { memoryBytes, memoryEntries } = await readUsage(root, limits.memoryBytes)
    if (memoryBytes > limits.memoryBytes) report(memoryReached(limits))
    if (memoryEntries > limits.newFiles) report(tooManyFiles(limits))
  }

  async function checkFolders(root: string): Promise<void> {
    const maxEntries = before.entries + limits.newFiles
    const unnamed = await unnamedFileBytes(root)
    const totals = await Promise.all(folders.map((folder) => walkFolder(folder, { maxEntries })))
    const now = totals.reduce(addTotals)
    report(growthLimit(before, { ...now, bytes: now.bytes + unnamed }, limits))
  }

  /** Repeats a check. If a check takes long because there are many files, it is made less often. */
  function repeat(check: (root: string) => Promise<void>, everyMs: number): void {
    const next = async () => {
      if (stopped) return
      const startedAt = performance.now()
      const root = `/proc/${firstPid()}/root`
      if (isReady(root)) await check(root).catch(reportBroken)
      timer(Math.max(everyMs, 4 * (performance.now() - startedAt)))
    }
    const timer = (ms: number) => setTimeout(next, ms).unref()
    timer(everyMs)
  }
  /** If the limits of a program can not be checked, the program is ended. */
  const reportBroken = (error: unknown) =>
    report({ kind: 'limit', limit: 'exec_workspace_delta_limit', message: `the folders of the program can not be measured: ${error}` })

  repeat(checkMemory, memoryPollMs)
  repeat(checkFolders, folderPollMs)
  return { stop }
}

const MiB = 1024 * 1024

export const memoryReached = ({ memoryBytes }: SandboxLimits): LimitReached => ({
  kind: 'limit',
  limit: 'memory_limit',
  message: `the program used more than ${Math.round(memoryBytes / MiB)} MiB of memory`,
})

const tooManyFiles = ({ newFiles }: SandboxLimits): LimitReached => ({
  kind: 'limit',
  limit: 'exec_workspace_delta_limit',
  message: `the program made more than ${newFiles} files and folders`,
})

/** The limit that a program exceeded by writing to its folders. Undefined if it exceeded no limit. */
export function growthLimit(before: FolderTotals, now: FolderTotals, limits: SandboxLimits): LimitReached | undefined {
  const limit = 'exec_workspace_delta_limit'
  if (now.entries - before.entries > limits.newFiles) return tooManyFiles(limits)
  if (now.bytes - before.bytes > limits.newBytes)
    return { kind: 'limit', limit, message: `the folders of the program grew by more than ${Math.round(limits.newBytes / MiB)} MiB` }
  if (before.complete && !now.complete)
    return { kind: 'limit', limit, message: `the program nested folders deeper than ${maxDepth} levels` }
  return undefined
}
