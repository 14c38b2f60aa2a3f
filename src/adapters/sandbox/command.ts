import type { SandboxLimits } from '../../ports/sandbox.ts'
import type { Identity } from './identity.ts'
import { type Mount, memoryFolderBytes, memoryFolders } from './layout.ts'

/**
 * A file of a sandbox whose content bubblewrap reads from an open file descriptor, so that the content is never stored on the disk of this
 * machine.
 */
export interface DataFile {
  readonly fd: number
  readonly target: string
}

/** The parts of the command that starts bubblewrap. */
export interface CommandParts {
  /** The arguments for the files of the system. */
  readonly system: readonly string[]
  readonly mounts: readonly Mount[]
  readonly data: readonly DataFile[]
  readonly statusFd: number
  /** The file descriptor with the filter of system calls. */
  readonly seccompFd: number
  readonly environment: Readonly<Record<string, string>>
  readonly currentFolder: string
  /** The user of the program, if this process is root. */
  readonly identity: Identity | undefined
  /** The file descriptors by which the program joins a cgroup. Empty if there is no cgroup. */
  readonly joinFds: readonly number[]
  readonly limits: SandboxLimits
  readonly cpuSeconds: number
  /** Memory that the interpreter reserves and does not use. */
  readonly reservedBytes: number
  readonly interpreter: readonly string[]
}

/** The ids of the user and the group that a program sees. */
const userInside = ['--uid', '1001', '--gid', '1000']

/**
 * The command that runs one program in a sandbox.
 *
 * If this process is root, a first bubblewrap makes the folders of the run accessible to an unprivileged user. Otherwise this user could
 * not open them, because data folders often deny access to other users. `setpriv` then changes to the unprivileged user, and the second
 * bubblewrap builds the sandbox, exactly as for an ordinary user. The first bubblewrap isolates nothing, but it has a process namespace of
 * its own. Without a process namespace, programs would keep running when this process dies, because the first bubblewrap has no right to
 * end processes of the other user. With it, the kernel ends all processes of the namespace when the first process of the namespace ends.
 */
export function sandboxCommand(parts: CommandParts): readonly string[] {
  const { identity, mounts } = parts
  const status = ['--json-status-fd', `${parts.statusFd}`]
  if (!identity) return sandboxArguments(parts, mounts, status)
  const staged = mounts.map((mount, index) => ({ ...mount, source: `/tmp/${index}` }))
  return [
    ...['/usr/bin/bwrap', '--die-with-parent', '--unshare-pid', ...status],
    ...['--dev-bind', '/', '/', '--tmpfs', '/tmp'],
    ...mounts.flatMap(({ source, writable }, index) => [writable ? '--bind' : '--ro-bind', source, `/tmp/${index}`]),
    ...['--', '/usr/bin/setpriv', '--reuid', `${identity.uid}`, '--regid', `${identity.gid}`, '--clear-groups'],
    ...['--inh-caps=-all', '--bounding-set=-all', '--pdeathsig', 'KILL'],
    ...sandboxArguments(parts, staged, []),
  ]
}

/** How many generations of processes the first process of the sandbox is below the process that bubblewrap reports. */
export const processesBefore = (identity: Identity | undefined): number => (identity ? 2 : 0)

function sandboxArguments(parts: CommandParts, mounts: readonly Mount[], status: readonly string[]): readonly string[] {
  const { system, data, environment, currentFolder, interpreter } = parts
  return [
    ...['/usr/bin/bwrap', '--die-with-parent', '--new-session', '--unshare-all', ...userInside, '--cap-drop', 'ALL'],
    ...['--hostname', 'sandbox', '--clearenv'],
    ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...system,
    ...['--proc', '/proc', '--dev', '/dev'],
    ...memoryFolders.flatMap((path) => ['--perms', '1777', '--size', `${memoryFolderBytes}`, '--tmpfs', path]),
    ...mounts.flatMap(({ source, target, writable }) => [writable ? '--bind' : '--ro-bind', source, target]),
    ...data.flatMap(({ fd, target }) => ['--perms', '0444', '--ro-bind-data', `${fd}`, target]),
    // Without this, a program could fill the memory of the machine with files in the root folder of its sandbox.
    ...['--remount-ro', '/dev', '--remount-ro', '/'],
    ...['--chdir', currentFolder, ...status, '--seccomp', `${parts.seccompFd}`, '--'],
    ...['/bin/sh', '-c', startScript(parts), 'sh', ...interpreter],
  ]
}

/**
 * The shell script that joins the cgroup, sets the limits that the kernel enforces for each process, and starts the interpreter.
 * (`watch.ts` watches the other limits.) A shell starts faster than any other program that could do this. The script also makes the kernel
 * end this program first if the machine runs out of memory. The program writes its output and its error messages to the same stream, so
 * that they arrive in the order in which they were written. Only programs that prepare the sandbox write to the other stream.
 */
function startScript({ joinFds, limits, cpuSeconds, reservedBytes }: CommandParts): string {
  const kibibytes = Math.ceil((limits.memoryBytes + reservedBytes) / 1024)
  const blocks = Math.ceil(limits.fileBytes / 512)
  const join = joinFds.flatMap((fd) => [`echo 0 >&${fd}`, `exec ${fd}>&-`])
  const set = [
    ...[`-S -t ${cpuSeconds}`, `-H -t ${cpuSeconds + 5}`, `-d ${kibibytes}`, `-f ${blocks}`],
    ...['-n 256', '-c 0', '-l 64'],
  ].map((limit) => `ulimit ${limit}`)
  // The limit of processes is `-p` in some shells and `-u` in others. In bash, `-p` is the size of a pipe, which can not be set, so it
  // fails.
  const processes = `{ ulimit -p ${limits.processes} 2> /dev/null || ulimit -u ${limits.processes}; }`
  return `${[...join, ...set, processes].join(' && ')} || exit 125; echo 1000 > /proc/self/oom_score_adj; exec "$@" 2>&1`
}
