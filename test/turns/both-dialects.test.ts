import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createHosting } from '../../src/adapters/hosting/hosting.ts'
import { createMemoryObjects } from '../../src/adapters/hosting/memory-objects.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { divergenceText } from '../../src/agent/replay/divergence.ts'
import { replay } from '../../src/agent/replay/replay.ts'
import type { Dialect } from '../../src/core/model-event.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { toNative } from '../support/models/to-native.ts'
import type { Scenario } from '../support/scenario.ts'

const here = join(import.meta.dirname, '../scenarios')
const names = readdirSync(here).filter((name) => existsSync(join(here, name, 'scenario.ts')))
const all = await Promise.all(
  names.map(async (name) => ({ name, scenario: ((await import(`../scenarios/${name}/scenario.ts`)) as { default: Scenario }).default })),
)
const scenarios = all.filter(({ scenario }) => scenario.channelsOnly === undefined)

it('most scenarios run in both dialects', () => {
  expect(scenarios.length).toBeGreaterThan(0.7 * all.length)
})

it.each(scenarios)('$name replays without a divergence in the dialect native', async ({ scenario }) => {
  const { harness, options } = await run(scenario, 'native')
  const turns = await replay(harness.store, harness.conversationId, options)
  expect(turns.flatMap(({ divergence }) => (divergence ? [divergenceText(divergence)] : []))).toEqual([])
})

it.each(scenarios)('$name has the same timeline in both dialects, apart from thinking and notes', async ({ scenario }) => {
  expect(await timelineOf(scenario, 'native')).toEqual(await timelineOf(scenario, 'channels'))
})

async function timelineOf(scenario: Scenario, dialect: Dialect) {
  const { harness } = await run(scenario, dialect)
  return blocksOf(await harness.timeline()).filter(({ type }) => type !== 'react.thinking' && type !== 'react.notes')
}

/** Runs a scenario in one dialect. The replies of its model are translated. */
async function run(scenario: Scenario, dialect: Dialect) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const hosting = createHosting({ objects: createMemoryObjects(), blobs: store.blobs })
  const { replies, model: _, ...options } = scenario.setup()
  const spoken = dialect === 'native' ? replies.map(toNative) : replies
  const harness = createHarness({ ...options, replies: [], model: scriptedModel(spoken, { dialect }), store, clock, hosting })
  if (scenario.run) await scenario.run(harness)
  else await harness.say('Please do it.')
  await harness.agent.close()
  return { harness, options }
}
