import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Worker } from 'node:worker_threads'
import { afterEach, expect, it } from 'vitest'
import { isOrphanedDraft, isOwnDraft, newDraftId } from './drafts.ts'

const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) await kill(child)
})

async function kill(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close')
  process.kill(-(child.pid as number), 'SIGKILL') // a negative number: all processes of the group
  await closed
}

const module = JSON.stringify(join(import.meta.dirname, 'drafts.ts'))

/**
 * Starts a process that prints the id of a new draft and stays alive. `prefix` is a command that starts this process, such as `unshare`.
 */
async function startWriter(prefix: readonly string[] = []) {
  const code = `import { newDraftId } from ${module}; console.log(newDraftId()); setInterval(() => {}, 60_000)`
  const [program = '', ...args] = [...prefix, process.execPath, '--input-type=module-typescript', '-e', code]
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  children.push(child)
  const [draft] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { draft, kill: () => kill(children.splice(children.indexOf(child), 1)[0] as ChildProcess) }
}

it('a draft is orphaned when its process has ended, and not before', async () => {
  const { draft, kill } = await startWriter()
  expect([isOrphanedDraft(draft), isOwnDraft(draft)]).toEqual([false, false])
  await kill()
  expect(isOrphanedDraft(draft)).toBe(true)
})

it('a draft of an earlier process with our pid is orphaned', () => {
  const [place, pid, , ...rest] = newDraftId().split('-')
  expect(isOrphanedDraft([place, pid, '1', ...rest].join('-'))).toBe(true)
})

it('a draft of this process is its own, even when another thread writes it', async () => {
  const code = `import(${module}).then(({ newDraftId }) => require('node:worker_threads').parentPort.postMessage(newDraftId()))`
  const worker = new Worker(code, { eval: true })
  const [draft] = (await once(worker, 'message')) as [string]
  await worker.terminate()
  for (const id of [draft, newDraftId()]) expect([isOwnDraft(id), isOrphanedDraft(id)]).toEqual([true, false])
})

const newNamespace = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']

it.skipIf(spawnSync('unshare', [...newNamespace.slice(1), 'true']).status !== 0)(
  'a draft of a process in another pid namespace is never orphaned: its pid means nothing here',
  async () => {
    // makes it unlikely that a process outside the namespace has the pid of the writer
    const setPid = ['sh', '-c', 'echo 29999 > /proc/sys/kernel/ns_last_pid; "$@" & wait', 'sh']
    for (const prefix of [newNamespace, [...newNamespace, ...setPid]]) {
      const { draft, kill } = await startWriter(prefix)
      expect(isOrphanedDraft(draft)).toBe(false)
      await kill()
      expect(isOrphanedDraft(draft)).toBe(false)
    }
  },
)
