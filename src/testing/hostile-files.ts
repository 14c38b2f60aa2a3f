import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type { UnsafeFileReason } from '../ports/files.ts'

/**
 * A path that a hostile program could create to mislead tools. A tool may read or write it, or use it as a folder. `reads`, `writes` and
 * `asFolder` tell why each use must be rejected. Undefined means that the use is allowed.
 */
export interface HostileThing {
  readonly what: string
  /** The path relative to OUT_DIR, the folder in which programs of the agent run. */
  readonly path: string
  /** Why reading the file or its size must be rejected. */
  readonly reads: UnsafeFileReason | undefined
  /** Why writing or removing the file must be rejected. */
  readonly writes: UnsafeFileReason | undefined
  /** Why listing or replacing the path as a folder must be rejected. */
  readonly asFolder: UnsafeFileReason | undefined
}

/** The hostile files that `plantHostileFiles` has created. */
export interface HostilePlace {
  readonly things: readonly HostileThing[]
  /** The content of the files outside OUT_DIR to which links point. A tool that returns this text has followed a link. */
  readonly secret: string
  /**
   * The path and content of each file outside OUT_DIR. A test calls this before and after it uses a tool, to check that the tool changed no
   * file.
   */
  outside(): Readonly<Record<string, string>>
  /** The folder with the files outside OUT_DIR. The caller must remove it. */
  readonly outsideFolder: string
}

const secret = 'the secret outside'

/**
 * Creates hostile files of all kinds in `<outDir>/<inside>`, for tests of tools that read or write files. Links point to a temporary
 * folder, so that following them does no harm. Device files are left out when the process may not create them.
 */
export async function plantHostileFiles(outDir: string, inside = 'turn_1/files'): Promise<HostilePlace> {
  const outsideFolder = mkdtempSync(join(tmpdir(), 'daybook-outside-'))
  mkdirSync(join(outDir, inside), { recursive: true })
  mkdirSync(join(outsideFolder, 'folder'))
  for (const name of ['secret', 'folder/secret', 'linked']) writeFileSync(join(outsideFolder, name), secret)
  const at = (name: string) => join(outDir, inside, name)
  const things = [
    ...plantLinks(at, outsideFolder),
    ...plantHardLinks(at, outsideFolder),
    ...(await plantSpecials(at)),
    ...plantMisplaced(at),
    ...plantNames(at),
  ].map((thing) => ({ ...thing, path: `${inside}/${thing.path}` }))
  const outside = () => Object.fromEntries(filesIn(outsideFolder).map((name) => [name, readFileSync(join(outsideFolder, name), 'utf8')]))
  return { things, secret, outside, outsideFolder }
}

type At = (name: string) => string
const everyUse = (what: string, path: string, reason: UnsafeFileReason): HostileThing => ({
  what,
  path,
  reads: reason,
  writes: reason,
  asFolder: reason,
})
const noFile = (what: string, path: string, reason: UnsafeFileReason): HostileThing => ({
  ...everyUse(what, path, reason),
  asFolder: 'not_a_folder',
})

function plantLinks(at: At, outside: string): readonly HostileThing[] {
  writeFileSync(at('honest.txt'), 'honest')
  execFileSync('mkfifo', [join(outside, 'pipe')])
  const links: readonly (readonly [what: string, name: string, target: string])[] = [
    ['a link to a file outside', 'link-out', join(outside, 'secret')],
    ['a relative link upwards', 'link-up', relative(at('.'), join(outside, 'secret'))],
    ['a link to an honest file', 'link-in', 'honest.txt'],
    ['a link to nothing', 'link-dangling', 'nothing-here'],
    ['a link to nothing outside', 'link-dangling-out', join(outside, 'not-yet')],
    ['a link to itself', 'link-loop', 'link-loop'],
    ['a link to a link', 'link-link', 'link-out'],
    ['a link to a pipe outside', 'link-pipe', join(outside, 'pipe')],
    ['a link to the environment of the process, which may have secrets', 'link-environ', '/proc/self/environ'],
    ['a link to a folder outside', 'link-folder', join(outside, 'folder')],
    ['a link to the folder with all files outside', 'link-above', outside],
    ['a link to its own folder', 'link-here', '.'],
  ]
  for (const [, name, target] of links) symlinkSync(target, at(name))
  return [
    ...links.map(([what, name]) => everyUse(what, name, 'symlink_blocked')),
    everyUse('a file behind a link to a folder', 'link-folder/secret', 'symlink_blocked'),
    everyUse('a new file behind a link to a folder', 'link-folder/new/one', 'symlink_blocked'),
    everyUse('a file deep behind a link', 'link-above/folder/secret', 'symlink_blocked'),
    everyUse('an honest file behind a link', 'link-here/honest.txt', 'symlink_blocked'),
    everyUse('a file behind a link to a file', 'link-in/x', 'symlink_blocked'),
    everyUse('a file behind a link to nothing', 'link-dangling/x', 'symlink_blocked'),
  ]
}

function plantHardLinks(at: At, outside: string): readonly HostileThing[] {
  linkSync(join(outside, 'linked'), at('hard-out'))
  writeFileSync(at('hard-one'), 'twice')
  linkSync(at('hard-one'), at('hard-two'))
  return [
    noFile('a hard link to a file outside', 'hard-out', 'hard_link_blocked'),
    noFile('the first of two hard links to a file', 'hard-one', 'hard_link_blocked'),
    noFile('the second of two hard links to a file', 'hard-two', 'hard_link_blocked'),
  ]
}

async function plantSpecials(at: At): Promise<readonly HostileThing[]> {
  execFileSync('mkfifo', [at('pipe')])
  await plantSocket(at('socket'))
  const devices = [
    ['an endless device', 'zero', '5'],
    ['a device that discards what is written to it', 'null', '3'],
  ] as const
  const planted = devices.filter(([, name, minor]) => canMake(at(name), minor))
  return [
    noFile('a pipe', 'pipe', 'not_a_file'),
    everyUse('a file behind a pipe', 'pipe/x', 'not_a_folder'),
    noFile('a socket', 'socket', 'not_a_file'),
    ...planted.map(([what, name]) => noFile(what, name, 'not_a_file')),
  ]
}

function canMake(path: string, minor: string): boolean {
  try {
    execFileSync('mknod', [path, 'c', '1', minor], { stdio: 'ignore' })
    return true
  } catch {
    return false // this process may not create devices
  }
}

/**
 * Creates a socket file. The server creates the file in another folder, and then the file is moved to `path`. Without the move, closing the
 * server would remove the file.
 */
async function plantSocket(path: string): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'daybook-socket-'))
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(join(home, 's'), resolve))
  renameSync(join(home, 's'), path)
  await new Promise((resolve) => server.close(resolve))
  rmdirSync(home)
}

function plantMisplaced(at: At): readonly HostileThing[] {
  mkdirSync(at('folder.txt'))
  writeFileSync(at('file'), 'a file')
  writeFileSync(at('sparse'), '')
  truncateSync(at('sparse'), 2 ** 40)
  writeFileSync(at('closed'), 'pulled')
  chmodSync(at('closed'), 0o444)
  return [
    { what: 'a folder in the place of a file', path: 'folder.txt', reads: 'not_a_file', writes: 'not_a_file', asFolder: undefined },
    everyUse('a file in the place of a folder', 'file/x', 'not_a_folder'),
    { what: 'a sparse file of a terabyte', path: 'sparse', reads: 'too_large', writes: undefined, asFolder: 'not_a_folder' },
    { what: 'a read-only file', path: 'closed', reads: undefined, writes: 'read_only', asFolder: 'not_a_folder' },
  ]
}

/**
 * Creates files whose names the disk allows but Daybook must reject. The returned list also has paths that no file can have, such as a name
 * of 256 characters.
 */
function plantNames(at: At): readonly HostileThing[] {
  const onDisk = ['a\nb', 'a\\b', 'a:b', 'evil\u202etxt.exe', 'zero\u200bwidth', 'e\u0301', '%2e%2e', 'a%2fb', 'git~1']
  for (const name of onDisk) writeFileSync(at(name), 'a file')
  for (const folder of ['.git', '.GIT', '.Git.']) {
    mkdirSync(at(folder))
    writeFileSync(at(`${folder}/config`), 'a file')
  }
  const impossible = ['../files/honest.txt', './honest.txt', '/honest.txt', 'honest.txt/', 'honest.txt\0', 'n'.repeat(256), 'é'.repeat(128)]
  return [...onDisk, '.git/config', '.GIT/config', '.Git./config', ...impossible].map((name) =>
    everyUse(`the name ${JSON.stringify(name.length > 40 ? `${name.slice(0, 10)}…` : name)}`, name, 'unsafe_path'),
  )
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}
