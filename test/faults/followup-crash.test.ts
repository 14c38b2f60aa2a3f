import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, it } from 'vitest'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import { openCrashFolder, recordOf } from '../support/crash/crash-folder.ts'

// A folder in memory, because it is faster. A killed process loses no data that the kernel has accepted, so a disk is not needed.
const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'daybook-followup-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function start(mode: 'hang' | 'recover') {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'followup-child.ts'), folder, mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, lines: createInterface({ input: child.stdout }), exited: once(child, 'exit') as Promise<[number | null, string | null]> }
}

async function readState() {
  const { store } = await openCrashFolder(folder)
  const { conversations } = await store.list({ open: true })
  const { journal, timeline } = await recordOf(store, 'c1')
  await store.close()
  return { unfinished: conversations, journal, blocks: timeline ? blocksOf(timeline) : [] }
}

it('when a process is killed after it accepted a followup and before it opened its turn, the next process opens that turn', async () => {
  const dying = start('hang')
  const printed: string[] = []
  for await (const line of dying.lines) {
    printed.push(line)
    dying.child.kill('SIGKILL')
  }
  expect(await dying.exited).toEqual([null, 'SIGKILL'])
  expect(printed).toEqual(['followup'])
  const crashed = await readState()
  expect(crashed.unfinished).toMatchObject([{ conversationId: 'c1', openTurn: null, waiting: ['second'] }])

  const answered: string[] = []
  const next = start('recover')
  for await (const line of next.lines) answered.push(line)
  expect(await next.exited).toEqual([0, null])
  expect(answered).toEqual(['The second answer.'])

  const { unfinished, journal, blocks } = await readState()
  expect(unfinished).toEqual([])
  expect(journal.slice(0, crashed.journal.length)).toEqual(crashed.journal)
  expect(blocks.flatMap(({ type, text }) => (type === 'user.prompt' || type === 'assistant.completion' ? [text] : []))).toEqual([
    'The first question.',
    'The first answer.',
    'The second question.',
    'The second answer.',
  ])
  const folded = journal.flatMap((change) => (change.type === 'event.folded' ? change.event_ids : []))
  expect(folded).toEqual(['second'])

  const again = start('recover')
  for await (const line of again.lines) answered.push(line)
  expect(answered).toHaveLength(1)
}, 60_000)
