import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { countAttempts } from '../support/attacks/count.ts'
import { deleteInChild, doomedOwner, filesWith, makeOwners, marker, openAgentIn } from './delete-work.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-delete-owner-crash-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

it('the deletion of a user that is killed after any step is finished by the next one, whose receipt is complete', async (context) => {
  const prepared = join(root, 'prepared')
  await makeOwners(prepared)

  /** Kills a deletion after a step and deletes again. Returns what the child has printed, and the receipt. */
  async function killAfter(step: number, recover: boolean) {
    const folder = join(root, `step-${step}`)
    cpSync(prepared, folder, { recursive: true })
    const printed = await deleteInChild([folder, String(step), 'owner'], join(root, 'code'))
    const { agent, close } = await openAgentIn(folder)
    if (recover) await agent.recover() // another process may finish the deletion of a conversation
    const { receipt } = await agent.archive.deleteOwner(doomedOwner)
    expect(filesWith(folder, marker)).toEqual([])
    await close()
    expect(filesWith(folder, marker)).toEqual([])
    rmSync(folder, { recursive: true })
    return { steps: Number(printed), receipt }
  }

  const { steps, receipt } = await killAfter(0, false) // never kills itself
  expect(steps).toBeGreaterThan(15)
  expect(receipt.tables).toMatchObject({ conversations: 2 })
  countAttempts(context, Math.ceil(steps / 2))
  for (let step = 1; step <= steps; step += 4) {
    const killed = await Promise.all([0, 2].map((more) => killAfter(step + more, more === 0)))
    for (const { receipt: again } of killed)
      expect({ step, tables: again.tables, files: again.files }).toEqual({ step, tables: receipt.tables, files: receipt.files })
  }
}, 600_000)
