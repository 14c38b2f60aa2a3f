import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  write,
  writeFileSync,
} from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { SandboxLimits } from '../../ports/sandbox.ts'

/*
 * A cgroup limits the memory and the number of processes of a program. This is more exact than the checks of `watch.ts`, because the kernel
 * enforces the limits for all processes together. Whether this process may make cgroups depends on the machine. Without cgroups, the other
 * limits still apply.
 */

/**
 * Folders in which this process can make cgroups. With version 1 of cgroups, each controller has a folder of its own. With version 2, all
 * controllers share one folder.
 */
export interface CgroupParents {
  readonly version: 1 | 2
  readonly folders: readonly string[]
}

/** The cgroup of one run. */
export interface RunCgroup {
  /** File descriptors of this process. A process that inherits them joins the cgroup by writing `0` to each. */
  readonly joinFds: readonly number[]
  /**
   * Moves the first process of a run into the first folder of the cgroup. The kernel takes up to 15 ms to move a process, if it has moved
   * no process for a while. Because of this call, the kernel does so while the first process prepares the sandbox. Children that the first
   * process started before it was moved are not in the cgroup, so the program also has to join by itself.
   */
  moveInBackground(pid: number): void
  /** Whether the kernel has ended a process because the memory of the cgroup was used up. */
  ranOutOfMemory(): boolean
  remove(): Promise<void>
}

const controllers = ['memory', 'pids'] as const
/** How many processes bubblewrap and the other programs that prepare a sandbox need. */
const ownProcesses = 12
const ownBytes = 64 * 1024 * 1024
/**
 * The process of a run joins its cgroup soon after the cgroup was made. So a cgroup of this age without a process was left by a killed
 * process of Daybook.
 */
const leftoverMs = 60_000

/**
 * Finds the cgroups of this process, if it may make further cgroups in them. `proc` is the folder in `/proc` that describes this process.
 */
export function findCgroups(proc = '/proc/self'): CgroupParents | undefined {
  const memberships = readText(`${proc}/cgroup`)
    .split('\n')
    .filter((line) => line !== '')
  const mounts = readText(`${proc}/mountinfo`).split('\n').map(parseMount)
  const folderOf = (type: string, controller: string) => {
    const own = memberships.map(parseMembership).find(({ names }) => (controller === '' ? names.length === 0 : names.includes(controller)))
    const mount = mounts.find((each) => each?.type === type && (controller === '' || each.options.includes(controller)))
    if (!own || !mount || !`${own.path}/`.startsWith(mount.root === '/' ? '/' : `${mount.root}/`)) return undefined
    const inside = mount.root === '/' ? own.path : own.path.slice(mount.root.length)
    return inside === '/' ? mount.folder : `${mount.folder}${inside}`
  }
  const old = controllers.flatMap((controller) => folderOf('cgroup', controller) ?? [])
  if (old.length === controllers.length && old.every(isWritable)) return removeLeftovers({ version: 1, folders: old })
  const own = folderOf('cgroup2', '')
  const candidates = own === undefined ? [] : [own, own.slice(0, own.lastIndexOf('/'))]
  const usable = candidates.find((folder) => isWritable(folder) && hasControllers(folder))
  return usable === undefined ? undefined : removeLeftovers({ version: 2, folders: [usable] })
}

/** A line of `cgroup`, such as `4:memory:/user.slice`. */
function parseMembership(line: string): { readonly names: readonly string[]; readonly path: string } {
  const [, names = '', ...path] = line.split(':')
  return { names: names === '' ? [] : names.split(','), path: path.join(':') }
}

/** A line of `mountinfo`: number, parent, device, root, folder, options, further fields, `-`, type, source, options. */
function parseMount(line: string) {
  const fields = line.split(' ')
  const dash = fields.indexOf('-')
  const [root, folder] = [fields[3], fields[4]]
  return dash < 0 || root === undefined || folder === undefined
    ? undefined
    : { root, folder, type: fields[dash + 1] ?? '', options: (fields[dash + 3] ?? '').split(',') }
}

function hasControllers(folder: string): boolean {
  const enabled = readText(`${folder}/cgroup.subtree_control`).trim().split(' ')
  return controllers.every((controller) => enabled.includes(controller))
}

let count = 0

/** Makes a cgroup for one run. Undefined if the machine refuses it. */
export function openCgroup({ version, folders }: CgroupParents, limits: SandboxLimits): RunCgroup | undefined {
  count += 1
  const made = folders.map((folder) => `${folder}/daybook-${process.pid}-${count}`)
  const [memory = '', pids = memory] = made
  const joinFds: number[] = []
  try {
    for (const folder of made) mkdirSync(folder)
    writeFileSync(`${memory}/${version === 2 ? 'memory.max' : 'memory.limit_in_bytes'}`, `${limits.memoryBytes + ownBytes}`)
    writeFileSync(`${pids}/pids.max`, `${limits.processes + ownProcesses}`)
    for (const folder of made) joinFds.push(openSync(`${folder}/cgroup.procs`, 'w'))
  } catch {
    for (const fd of joinFds) closeSync(fd)
    for (const folder of made) removeEmpty(folder)
    return undefined
  }
  const eventsFile = `${memory}/${version === 2 ? 'memory.events' : 'memory.oom_control'}`
  let moving: Promise<unknown> = Promise.resolve()
  return {
    joinFds,
    moveInBackground(pid) {
      const [fd] = joinFds
      if (fd !== undefined) moving = promisify(write)(fd, `${pid}`).catch(() => {}) // fails if the process has already ended
    },
    ranOutOfMemory: () =>
      readText(eventsFile)
        .split('\n')
        .some((line) => line.startsWith('oom_kill ') && line !== 'oom_kill 0'),
    async remove() {
      await moving
      for (const fd of joinFds) closeSync(fd)
      // An ended process stays in its cgroup for a moment, and only an empty cgroup can be removed.
      for (let tries = 0; tries < 50 && !made.map(removeEmpty).every((gone) => gone); tries += 1) await sleep(20)
    },
  }
}

/** Removes a cgroup without processes. Returns false if the cgroup still has processes. */
function removeEmpty(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

/** Removes cgroups that a killed process left. The kernel does not remove a cgroup that still has processes. */
function removeLeftovers(parents: CgroupParents): CgroupParents {
  for (const folder of parents.folders)
    for (const name of readdirSync(folder).filter((each) => each.startsWith('daybook-'))) {
      const changed = statSync(`${folder}/${name}`, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
      if (Date.now() - changed > leftoverMs) removeEmpty(`${folder}/${name}`)
    }
  return parents
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    accessSync(`${folder}/cgroup.procs`, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // this machine has no such file
  }
}
