import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { callUsages } from '../../src/core/cost/call-usage.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { owner } from '../../src/testing/conformance/store/fixture.ts'
import { openFolderStore } from '../support/stores.ts'
import { spendingModel, spendingSettings } from './budgets-child.ts'

const CHILDREN = 4
const CONVERSATIONS = 200
const BUDGET = 400_000
const NAME = 'tenant/acme'

function startChild(folder: string, index: number) {
  const count = CONVERSATIONS / CHILDREN
  const args = [join(import.meta.dirname, 'budgets-child.ts'), folder, String(index * count), String(count)]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let ran = 0
  const ended = once(child, 'close')
  const lines = child.stdout && createInterface({ input: child.stdout })
  const someRan = new Promise<void>((resolve) => {
    lines?.on('line', () => {
      if (++ran > 8) resolve()
    })
    lines?.on('close', resolve)
  })
  return { child, someRan, ended }
}

/** The tokens of all responses in all journals. */
async function journaledTokens(store: ConversationStore): Promise<number> {
  let tokens = 0
  const page = await store.list({ limit: 500 })
  expect(page.conversations.length).toBe(CONVERSATIONS)
  for (const { conversationId } of page.conversations)
    for await (const { change } of store.readJournal(conversationId, { after: 0 }))
      if (change.type === 'response.received')
        for (const { usage } of callUsages(change)) tokens += usage.uncached + usage.cacheRead + usage.cacheWrite + usage.output
  return tokens
}

it('200 conversations at once spend no more than one budget, and after kills nothing is lost, counted twice or stays reserved', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-budgets-'))
  const store = await openFolderStore(folder)
  const agent = createAgentFrom({ store, clock: createSystemClock(), model: spendingModel(), settings: spendingSettings })
  try {
    await agent.budgets.set(NAME, { tokens: BUDGET })
    const children = Array.from({ length: CHILDREN }, (_, index) => startChild(folder, index))
    const killed = children.slice(0, CHILDREN / 2)
    await Promise.all(killed.map(({ someRan }) => someRan))
    for (const { child } of killed) child.kill('SIGKILL')
    await Promise.all(children.map(({ ended }) => ended))
    // a killed process may not have opened all its conversations
    const ids = Array.from({ length: CONVERSATIONS }, (_, n) => `acme/web/ann/c${n}`)
    await expect.poll(async () => (await agent.recover()).skipped, { timeout: 120_000 }).toEqual([])
    await Promise.all(ids.map(async (id) => (await store.head(id)) ?? agent.run(id, 'Go on.').result))
    expect((await store.list({ open: true })).conversations).toEqual([])

    const [budget] = (await agent.budgets.list({ prefix: NAME })).budgets
    const spent = await journaledTokens(store)
    expect(budget).toMatchObject({ spent: { tokens: spent }, reserved: { tokens: 0 }, left: { tokens: BUDGET - spent } })
    // the model never takes more than was reserved for its calls, so the budget is kept exactly
    expect(spent).toBeLessThanOrEqual(BUDGET)
    expect(spent).toBeGreaterThan(BUDGET / 8)
    const closed = await Promise.all(ids.map(async (id) => (await store.head(id))?.openTurn))
    expect(closed.every((turn) => turn === null)).toBe(true)
    // all that is left can be reserved
    const claim = await store.claim('acme/web/ann/last', owner('test'))
    const rest = { slot: 'decision', amount: { tokens: BUDGET - spent, micros: 0 }, budgets: [{ name: NAME }] }
    expect(await store.budgets?.reserve(claim, rest)).toEqual({ granted: [NAME] })
  } finally {
    await agent.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
