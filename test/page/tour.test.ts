import { expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createOfflineModel } from '../../src/offline/index.ts'
import { hostingOn } from '../support/hosting.ts'
import { usePage } from '../support/page/page-fixture.ts'

const blobs = createMemoryBlobs()
const page = usePage({
  model: createOfflineModel(),
  store: createMemoryStore({ blobs, clock: createSystemClock() }),
  hosting: hostingOn(blobs).hosting,
  settings: { sources: { eligibleMimes: ['text/markdown', 'text/csv', 'text/plain'] } },
})

it('one click on the empty page plays a real conversation with files, a plan, a report and citations', async () => {
  const tab = await page.open()
  await tab.getByRole('button', { name: 'Take the tour' }).click()
  await tab.waitForURL(/\/c\/[\w-]+$/)
  await tab.getByText('Tour, 1 of 4.').waitFor()
  await tab.getByRole('list', { name: 'Files' }).getByText('report.md').waitFor()
  await tab.getByText('That was the tour').waitFor({ timeout: 60_000 })
  const id = /\/c\/([\w-]+)$/.exec(tab.url())?.[1] ?? ''
  const { blocks } = await page.client.timeline(id)
  const types = new Set(blocks.map(({ type }) => type))
  expect([...['user.attachment', 'user.attachment.meta'].filter((type) => types.has(type as never))]).not.toEqual([])
  expect(types).toContain('react.plan')
  const answers = blocks.flatMap(({ type, text }) => (type === 'assistant.completion' ? [text ?? ''] : []))
  expect(answers.some((text) => text.includes('[[S:'))).toBe(true)
  expect(answers.join('\n')).toContain('271') // 49.50 + 179.00 + 42.50 in Oslo
  await tab.getByRole('button', { name: 'End the tour' }).click()
  await tab.getByText('That was the tour').waitFor({ state: 'detached' })
})
