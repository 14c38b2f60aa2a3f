import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, describe, expect, it } from 'vitest'

/*
 * Tests which owners are declared dead, with real processes and real pid namespaces. A living owner must never be declared dead. A dead
 * owner must block its conversation at most until its lease expires.
 */

const script = join(import.meta.dirname, 'owner-child.ts')
const codeCache = mkdtempSync(join(tmpdir(), 'daybook-owners-code-'))
const folders: string[] = []
const children: ChildProcess[] = []

afterEach(async () => {
  for (const child of children.splice(0)) await kill(child)
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})
afterAll(() => rmSync(codeCache, { recursive: true, force: true }))

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-owners-'))
  folders.push(folder)
  return folder
}

/** A running command, and the lines that it prints. */
interface Started {
  readonly child: ChildProcess
  readonly pid: number
  /** The next line, parsed as JSON. Undefined when the command has ended. */
  next(): Promise<unknown>
}

/** Starts `node owner-child.ts` with these arguments. `prefix` is a command that starts this process, such as `unshare`. */
function start(args: readonly string[], prefix: readonly string[] = []): Started {
  const [program = '', ...rest] = [...prefix, process.execPath, script, ...args]
  const env = { ...process.env, NODE_COMPILE_CACHE: codeCache }
  // with a process group of its own, so that `kill` ends all its processes
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'], env, detached: true })
  children.push(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    child,
    pid: child.pid as number, // `child.pid` is undefined only if the program does not exist
    async next() {
      const { value } = await lines.next()
      return value === undefined ? undefined : JSON.parse(value)
    },
  }
}

/** Kills a command and all processes that it has started. */
async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  try {
    process.kill(-(child.pid as number), 'SIGKILL') // a negative number means the whole process group
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // it has ended, and the event has not arrived yet
  }
  await closed
}

/** Starts a process that runs a turn in `c1`. Resolves when the turn waits for its model. */
async function startOwner(folder: string, prefix?: readonly string[]): Promise<Started> {
  const owner = start([folder, 'hold'], prefix)
  expect(await owner.next()).toBe('holding')
  return owner
}

/** Starts a process that calls `recover`, and returns everything that it prints. */
async function recover(folder: string, mode: 'recover' | 'wait' = 'recover', prefix?: readonly string[]): Promise<readonly unknown[]> {
  const process = start([folder, mode], prefix)
  const printed: unknown[] = []
  for (let value = await process.next(); value !== undefined; value = await process.next()) printed.push(value)
  return printed
}

const recovered = { answers: ['Here I am.'], skipped: [] }
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const skipped = (pid: number) => ({
  answers: [],
  skipped: [{ conversationId: 'c1', until: expect.stringMatching(iso), owner: { host: hostname(), pid } }],
})
const busy = (pid: number) => ({
  code: 'conversation.busy',
  message: expect.stringMatching(`^conversation c1 is in use by process ${pid} on .*\\d\\.\\d{3}Z.*try again`),
})

const stateOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '')[0]

describe('an owner on the same machine', () => {
  it('that runs is skipped by recover, with the end of its lease, and a rename fails with an error that names it', async () => {
    const folder = newFolder()
    const owner = await startOwner(folder)
    expect(await recover(folder)).toMatchObject([skipped(owner.pid), busy(owner.pid)])
    owner.child.kill('SIGUSR1')
    expect(await owner.next()).toBe('complete') // the turn of the owner has ended as usual
  })

  it('that was killed is replaced at once', async () => {
    const folder = newFolder()
    const owner = await startOwner(folder)
    await kill(owner.child)
    expect(await recover(folder)).toEqual([recovered])
  })

  it('that is stopped is alive: it is skipped, and finishes its turn when it continues', async () => {
    const folder = newFolder()
    const owner = await startOwner(folder)
    owner.child.kill('SIGSTOP')
    expect(await recover(folder)).toMatchObject([skipped(owner.pid), busy(owner.pid)])
    owner.child.kill('SIGCONT')
    owner.child.kill('SIGUSR1')
    expect(await owner.next()).toBe('complete')
  })

  it.skipIf(process.platform !== 'linux')('that is a zombie is dead', async () => {
    const folder = newFolder()
    // The shell replaces itself by `sleep`, which never collects the exit status of its child. So the killed child stays a zombie.
    const owner = await startOwner(folder, ['sh', '-c', '"$@" & exec sleep 600', 'sh'])
    const pid = Number(childOf(owner.pid))
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => stateOf(pid)).toBe('Z')
    expect(await recover(folder)).toEqual([recovered])
  })
})

function childOf(parent: number): string | undefined {
  return readdirSync('/proc').find((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]) === parent
    } catch {
      return false // the process has ended meanwhile
    }
  })
}

/** The file with the last pid that the kernel has given. Writing to it decides the next pid. */
const lastPid = '/proc/sys/kernel/ns_last_pid'

const newNamespace = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
const can = (command: readonly string[]) => spawnSync(command[0] as string, [...command.slice(1), 'true']).status === 0

/** The pid namespace of the process that `newNamespace` starts as pid 1. */
function namespaceOf({ pid }: Started): string {
  return spawnSync('readlink', [`/proc/${childOf(pid)}/ns/pid`])
    .stdout.toString()
    .trim()
}

/**
 * Runs `recover` as pid 1 of a new pid namespace, as a restarted container does. `inode` says whether the inode number of the new namespace
 * is that of the earlier one.
 */
async function recoverInNewNamespace(folder: string, earlier: string, inode: 'same' | 'other'): Promise<readonly unknown[]> {
  const comparison = inode === 'same' ? '=' : '!='
  const prefix = ['sh', '-c', `[ "$(readlink /proc/self/ns/pid)" ${comparison} "${earlier}" ] && exec "$@"`, 'sh']
  for (;;) {
    const printed = await recover(folder, 'wait', [...newNamespace, ...prefix])
    // without output the inode number was not the wanted one: try again, because the kernel chooses among a few free numbers
    if (printed.length > 0) return printed
  }
}

describe.skipIf(!can(newNamespace))('an owner in a pid namespace of its own', () => {
  it('that died is replaced at once after a restart in a namespace with the same number, although its pid is in use', async () => {
    const folder = newFolder()
    const owner = await startOwner(folder, newNamespace)
    const namespace = namespaceOf(owner)
    await kill(owner.child)
    expect(await recoverInNewNamespace(folder, namespace, 'same')).toEqual([recovered])
  })

  it('that died is skipped after a restart in a namespace with another number, and replaced at the moment that was reported', async () => {
    const folder = newFolder()
    const owner = await startOwner(folder, newNamespace)
    const namespace = namespaceOf(owner)
    await kill(owner.child)
    expect(await recoverInNewNamespace(folder, namespace, 'other')).toMatchObject([skipped(1), busy(1), skipped(1), recovered])
  })

  it('that runs is skipped from outside and from a sibling namespace, where its pid is another process', async () => {
    const folder = newFolder()
    const owner = await startOwner(folder, newNamespace)
    expect(await recover(folder)).toMatchObject([skipped(1), busy(1)])
    expect(await recover(folder, 'recover', newNamespace)).toMatchObject([skipped(1), busy(1)])
    process.kill(Number(childOf(owner.pid)), 'SIGUSR1')
    expect(await owner.next()).toBe('complete')
  })

  it.skipIf(!existsSync(lastPid))('that runs is skipped where no process has its pid', async () => {
    const folder = newFolder()
    await startOwner(folder, [...newNamespace, 'sh', '-c', `echo 29999 > ${lastPid}; "$@" & wait`, 'sh'])
    expect(await recover(folder, 'recover', newNamespace)).toMatchObject([skipped(30_000), busy(30_000)])
  })

  it('that runs is skipped where /proc shows the processes of another namespace', async () => {
    const folder = newFolder()
    const withoutProc = newNamespace.filter((option) => option !== '--mount-proc')
    await startOwner(folder, withoutProc)
    expect(await recover(folder, 'recover', withoutProc)).toMatchObject([skipped(1), busy(1)])
  })

  it.skipIf(!existsSync(lastPid))('that died is replaced at once when another program has its pid', async () => {
    const steps = `
      "$@" hold > "$3/printed" & owner=$!
      until grep -q holding "$3/printed"; do sleep 0.05; done
      kill -9 $owner; wait $owner
      echo $((owner - 1)) > ${lastPid} # the next process gets the pid after this one
      sleep 600 > /dev/null &
      echo "[$owner, $!]"
      exec "$@" recover`
    const inNamespace = start([newFolder()], [...newNamespace, 'sh', '-c', steps, 'sh'])
    const [owner, other] = (await inNamespace.next()) as readonly number[]
    expect(other).toBe(owner)
    expect(await inNamespace.next()).toEqual(recovered)
  })
})

const otherTime = ['unshare', '--time', '--boottime', '1000', '--fork', '--kill-child']

it.skipIf(!can(otherTime))('an owner that runs in another time namespace is skipped, although its start time looks different', async () => {
  const folder = newFolder()
  const owner = await startOwner(folder, otherTime)
  const pid = Number(childOf(owner.pid))
  expect(await recover(folder)).toMatchObject([skipped(pid), busy(pid)])
})
