import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { z } from 'zod'
import { createFileBlobs } from '../src/adapters/blobs/file.ts'
import { createSystemClock } from '../src/adapters/clock/system.ts'
import { createSqliteStore } from '../src/adapters/store/sqlite/store.ts'
import { createAgentFrom } from '../src/agent/agent.ts'
import { agentTool } from '../src/agent/agent-tool.ts'
import type { ModelEvent, ServiceError } from '../src/core/model-event.ts'
import { isChildKey } from '../src/core/scope.ts'
import type { Model } from '../src/ports/model.ts'
import { reply } from '../src/testing/scripted-model.ts'
import { defineTool } from '../src/tools/define.ts'
import { later } from '../src/tools/outcome.ts'
import { median, report } from './measure.ts'

const WAITING = 10_000
const FEW = 1_000
const DUE = 20

/**
 * Measures turns that wait. 10,000 of them must hold nothing in memory, and the time of `recover` must depend on the turns that are due,
 * not on all turns that wait. A quarter of them waits for an approval, a quarter for a late result, a quarter for a provider, and a quarter
 * for a sub-agent that waits for an approval.
 */
export async function bench(): Promise<void> {
  const few = await openWaiting(FEW)
  const many = await openWaiting(FEW)
  try {
    const before = usedHeap()
    await many.wait(WAITING - FEW)
    const after = usedHeap()
    console.log(`heap with ${FEW} waiting turns ${megabytes(before)}, with ${WAITING} ${megabytes(after)}`)
    report(`heap with ${WAITING} waiting turns`, after / before, 1.1, `heap with ${FEW}`)

    const times = await interleaved(9, few.recover, many.recover)
    report(`recover, nothing due, ${WAITING} waiting`, times.second / times.first, 1.5, `with ${FEW} waiting`)
    const due = await interleaved(5, few.recoverDue, many.recoverDue)
    report(`recover, ${DUE} due, ${WAITING} waiting`, due.second / due.first, 1.5, `with ${FEW} waiting`)
    console.log(`recover with ${WAITING} waiting: nothing due ${times.second.toFixed(2)} ms, ${DUE} due ${due.second.toFixed(1)} ms`)
  } finally {
    await few.close()
    await many.close()
  }
}

async function interleaved(repeats: number, first: () => Promise<number>, second: () => Promise<number>) {
  const times = { first: [] as number[], second: [] as number[] }
  for (let i = 0; i < repeats; i++) {
    times.first.push(await first())
    times.second.push(await second())
  }
  return { first: median(times.first), second: median(times.second) }
}

const kinds = ['approval', 'later', 'provider', 'child'] as const

/** Opens a store in a folder, and an agent whose turns stop and wait. */
async function openWaiting(turns: number) {
  // A folder in memory, because the time of the disk is not measured here.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'daybook-bench-waits-'))
  const clock = createSystemClock()
  const store = await createSqliteStore({
    file: join(folder, 'daybook.db'),
    blobs: await createFileBlobs({ folder: join(folder, 'blobs') }),
    clock,
  })
  const settings = { providerWaitSeconds: 1e6, retryDelaysMs: [] }
  const pay = defineTool({ id: 'shop.pay', description: 'Pays.', params: z.object({}), approval: true, run: () => 'paid' })
  const order = defineTool({ id: 'shop.order', description: 'Orders.', params: z.object({}), run: () => later() })
  const helper = createAgentFrom({ model, store, clock, settings, tools: [pay] })
  const ask = agentTool(helper, { description: 'Pays for you.', params: z.object({ task: z.string() }) })
  const agent = createAgentFrom({ model, store, clock, settings, tools: [pay, order, ask] })
  let next = 0

  async function wait(more: number): Promise<void> {
    const end = next + more
    const runNext = async () => {
      while (next < end) {
        const number = next++
        const { exitReason } = await agent.run(`${kinds[number % kinds.length]}-${number}`, 'Go.').result
        if (exitReason !== 'waiting') throw new Error(`turn ${number} should wait, but its exit reason is ${exitReason}`)
      }
    }
    await Promise.all(Array.from({ length: 16 }, runNext))
    await helper.drain(10_000)
  }

  await wait(turns)
  let decided = 0
  return {
    wait,
    async recover(): Promise<number> {
      return processorTime(() => agent.recover())
    },
    /**
     * Stores decisions for some turns directly in the store, as if another process had accepted them and then ended. Then measures
     * `recover`.
     */
    async recoverDue(): Promise<number> {
      for (let due = 0; due < DUE; due++, decided++) {
        const id = `approval-${(decided % (FEW / kinds.length)) * kinds.length}`
        const [call] = (await store.head(id))?.waits ?? []
        const callId = call?.call_id ?? ''
        const payload = { call_id: callId, approved: true }
        await store.offer(id, { event_id: `decide-${callId}`, kind: 'decision', ts: clock.now(), text: '', payload })
      }
      return processorTime(async () => {
        const { results } = await agent.recover()
        if (results.length !== DUE) throw new Error(`${results.length} turns were resumed, not ${DUE}`)
      })
    },
    async close() {
      await agent.close()
      await helper.close()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const limited: ServiceError = {
  kind: 'rate_limited',
  error_type: 'RateLimit',
  service_name: 'none',
  provider: 'none',
  model_name: 'waits',
  message: 'slow down',
  stage: 'before_output',
  retryable: true,
  retry_after_seconds: 100_000,
}

/** A model without state. In a turn that was resumed, it makes the same call again, so that the turn waits again. */
const model: Model = {
  name: 'waits',
  window: 1_000_000,
  async *stream({ cacheKey, role }): AsyncGenerator<ModelEvent> {
    if (role === 'gate') return yield { type: 'error', error: { ...limited, retryable: false } }
    const [kind] = cacheKey.split('-')
    if (kind === 'provider') return yield { type: 'error', error: limited }
    const asks = kind === 'child' && !isChildKey(cacheKey)
    const text = asks ? reply.call('agents.ask', { task: 'Pay.' }) : reply.call(kind === 'later' ? 'shop.order' : 'shop.pay')
    yield { type: 'text.delta', text }
    const usage = { uncached: 10, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 }
    yield { type: 'finish', finishReason: 'stop', modelName: 'waits', usage }
  },
}

/** How many milliseconds of the processor `work` takes. Other programs on the machine change this time less than the elapsed time. */
async function processorTime(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function usedHeap(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
