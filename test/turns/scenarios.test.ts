import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createHosting } from '../../src/adapters/hosting/hosting.ts'
import { createMemoryObjects } from '../../src/adapters/hosting/memory-objects.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { timelineText } from '../../src/testing/timeline-text.ts'
import type { Scenario } from '../support/scenario.ts'

const here = join(import.meta.dirname, '../scenarios')
const folder = mkdtempSync(join(tmpdir(), 'daybook-scenarios-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const names = readdirSync(here).filter((name) => existsSync(join(here, name, 'scenario.ts')))
const scenarios = await Promise.all(
  names.map(async (name) => ({ name, scenario: ((await import(`../scenarios/${name}/scenario.ts`)) as { default: Scenario }).default })),
)

for (const { name, scenario } of scenarios) {
  it(`${name}: ${scenario.title}`, async () => {
    const inMemory = await runScenario(scenario, 'memory')
    const onDisk = await runScenario(scenario, name)
    expect(onDisk.journal).toEqual(inMemory.journal) // equal in every byte, because clock and random numbers are the same
    compare(join(here, name, 'timeline.txt'), inMemory.timeline)
    if (scenario.prompt) compare(join(here, name, 'prompt.txt'), inMemory.prompt)
  })
}

async function runScenario(scenario: Scenario, storage: string) {
  const clock = createFixedClock()
  const store =
    storage === 'memory'
      ? createMemoryStore({ blobs: createMemoryBlobs(), clock })
      : await createSqliteStore({
          file: join(folder, `${storage}.sqlite`),
          blobs: await createFileBlobs({ folder: join(folder, storage) }),
          clock,
        })
  const hosting = createHosting({ objects: createMemoryObjects(), blobs: store.blobs })
  const harness = createHarness({ ...scenario.setup(), store, clock, hosting })
  try {
    if (scenario.run) await scenario.run(harness)
    else await harness.say('Please do it.')
    await scenario.check?.(harness)
    const parts = harness.model.requests.filter(({ role }) => role === 'decision').at(-1)?.parts ?? []
    return {
      journal: (await harness.journal()).map((change) => JSON.stringify(change)),
      timeline: timelineText(await harness.timeline()),
      prompt: parts.map((part) => (part.type === 'text' ? part.text : `<${part.type} ${part.media_type}>`)).join(''),
    }
  } finally {
    await harness.agent.close()
    await store.close()
  }
}

/** Compares a text with its golden file. `UPDATE_GOLDEN=1` accepts the current text. Check the difference first. */
function compare(file: string, actual: string): void {
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, `${actual}\n`)
  expect(`${actual}\n`).toBe(existsSync(file) ? readFileSync(file, 'utf8') : '(no such file: run with UPDATE_GOLDEN=1)')
}
