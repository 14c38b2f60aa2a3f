import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import type { SandboxFolders, SandboxLanguage } from '../../ports/sandbox.ts'

/** Where a program finds its folders and files. These paths are the same on every machine. */
export const inside = {
  out: '/daybook/out',
  work: '/daybook/work',
  context: '/daybook/context',
  /** The secret that requests must contain. */
  token: '/daybook/run/token',
  /** The socket for requests. */
  socket: '/daybook/run/requests.sock',
  /** The loaders of the languages, and the libraries that programs import. */
  guest: '/daybook/guest',
  node: '/daybook/bin/node',
  program: { python: '/daybook/run/program.py', javascript: '/daybook/run/program.mjs' } satisfies Record<SandboxLanguage['id'], string>,
} as const

/** The size of each file system in memory: `/tmp` and `/dev/shm`. */
export const memoryFolderBytes = 64 * 1024 * 1024
export const memoryFolders = ['/tmp', '/dev/shm'] as const

/** A file or folder of this machine (`source`) that a program sees at the path `target`. */
export interface Mount {
  readonly source: string
  readonly target: string
  readonly writable: boolean
}

interface RunFiles {
  readonly guest: string
  /** The program that runs JavaScript. Undefined for a program in another language. */
  readonly node: string | undefined
  /** The socket for requests. */
  readonly socket: string
  /** Folders below the folder of the turn that the program may only read. */
  readonly readOnlyInTurn: readonly string[]
}

/** The mounts of one run, apart from those of the system. A mount comes after the mounts that contain its target. */
export function mountsOfRun(folders: SandboxFolders, { guest, node, socket, readOnlyInTurn }: RunFiles): readonly Mount[] {
  const readOnly = (source: string, target: string): Mount => ({ source, target, writable: false })
  return [
    readOnly(guest, inside.guest),
    ...(node === undefined ? [] : [readOnly(node, inside.node)]),
    readOnly(folders.out, inside.out),
    { source: `${folders.out}/${folders.turn}`, target: `${inside.out}/${folders.turn}`, writable: true },
    ...readOnlyInTurn.map((name) => readOnly(`${folders.out}/${folders.turn}/${name}`, `${inside.out}/${folders.turn}/${name}`)),
    { source: folders.work, target: inside.work, writable: true },
    ...Object.entries(folders.context).map(([name, source]) => readOnly(source, `${inside.context}/${name}`)),
    readOnly(socket, inside.socket),
  ]
}

/** Files and folders of `/etc` that programs need: for shared libraries, alternatives such as BLAS, fonts and the time zone. */
const etcNames = ['ld.so.cache', 'alternatives', 'fonts', 'matplotlibrc', 'localtime', 'mime.types']

/**
 * The arguments of bubblewrap that show the system of this machine read-only: `/usr`, the folders that are links into it on most systems,
 * and a few files of `/etc`. Links are made where possible, because each mount takes time.
 */
export function systemArguments(): readonly string[] {
  const topFolders = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].filter((path) => existsSync(path))
  const show = (path: string) => (lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path])
  const etc = etcNames.map((name) => `/etc/${name}`).filter((path) => existsSync(path))
  // Machines may have settings with secrets below /usr/local/etc. Programs do not need them.
  const hidden = ['/usr/local/etc', '/usr/src'].filter((path) => existsSync(path))
  return [
    ...['--ro-bind', '/usr', '/usr'],
    ...hidden.flatMap((path) => ['--tmpfs', path, '--remount-ro', path]),
    ...topFolders.flatMap(show),
    ...['--perms', '0755', '--dir', '/etc'],
    ...etc.flatMap(show),
    // The files of this machine would show the names of its users and of other machines.
    ...['passwd', 'group', 'hosts'].flatMap((name) => ['--symlink', `${inside.guest}/etc/${name}`, `/etc/${name}`]),
  ]
}
