import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { countAttempts } from '../support/attacks/count.ts'
import { deleteInChild, filesWith, makeConversations, marker, openAgentIn } from './delete-work.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-delete-crash-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

it('a deletion that is killed after any of its steps is finished by recover, and leaves nothing in the folder', async (context) => {
  const prepared = join(root, 'prepared')
  await makeConversations(prepared)
  expect(filesWith(prepared, marker).length).toBeGreaterThan(5)
  const others = filesWith(prepared, 'kept').filter((path) => !filesWith(prepared, marker).includes(path))

  const killAfter = async (step: number): Promise<number> => {
    const folder = join(root, `step-${step}`)
    cpSync(prepared, folder, { recursive: true })
    const printed = await deleteInChild([folder, String(step)], join(root, 'code'))
    const { agent, store, close } = await openAgentIn(folder)
    const wasMarked = !(await store.head('doomed'))
    await agent.recover()
    if (!wasMarked) await agent.archive.delete('doomed') // killed before the first commit
    expect(await store.head('doomed')).toBeUndefined()
    expect(filesWith(folder, marker)).toEqual([]) // also while the database is open
    await close()
    expect(filesWith(folder, marker)).toEqual([])
    const reopened = await openAgentIn(folder)
    const { blocks } = await reopened.agent.archive.timeline('kept')
    expect(blocks.length).toBeGreaterThan(10)
    expect(filesWith(folder, 'kept')).toEqual(expect.arrayContaining(others))
    await reopened.close()
    rmSync(folder, { recursive: true })
    return Number(printed)
  }

  const steps = await killAfter(0) // never kills itself
  expect(steps).toBeGreaterThan(8)
  countAttempts(context, steps)
  for (let step = 1; step <= steps; step += 3) await Promise.all([0, 1, 2].map((more) => killAfter(step + more)))
})
