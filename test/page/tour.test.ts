import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { findSandbox } from '../../src/adapters/sandbox/index.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createOfflineModel } from '../../src/offline/index.ts'
import { openMemoryWorkspaces } from '../../src/wiring/memory-workspaces.ts'
import { hostingOn } from '../support/hosting.ts'
import { usePage } from '../support/page/page-fixture.ts'

const machine = await findSandbox()

/** A server as `daybook serve` starts it. */
function tourPage(sandbox: typeof machine.sandbox) {
  const blobs = createMemoryBlobs()
  const store = createMemoryStore({ blobs, clock: createSystemClock() })
  return usePage({
    model: createOfflineModel(),
    store,
    workspaces: openMemoryWorkspaces(store.blobs), // programs need folders
    hosting: hostingOn(blobs).hosting,
    settings: { sources: { eligibleMimes: ['text/markdown', 'text/csv', 'text/plain'] }, exitGraceMs: 750 },
    ...(sandbox && { sandbox }),
  })
}

async function startTour(tab: Page): Promise<string> {
  await tab.getByRole('button', { name: 'Take the tour' }).click()
  await tab.waitForURL(/\/c\/[\w-]+$/)
  await tab.getByText('Tour, 1 of 4.').waitFor()
  return /\/c\/([\w-]+)$/.exec(tab.url())?.[1] ?? ''
}

describe.runIf(machine.sandbox)('the tour on a machine with a sandbox', () => {
  const page = tourPage(machine.sandbox)

  it('plays a real conversation: files, a plan, a report, a search, a program, an approval, a chart and a redirection', async () => {
    const tab = await page.open()
    const id = await startTour(tab)
    await tab.getByRole('list', { name: 'Files' }).getByText('report.md').waitFor()
    await tab.getByText('Tour, 2 of 4.').waitFor()
    await tab.getByText('A grinder that was opened can be returned within 30 days').first().waitFor()
    const card = tab.getByRole('region', { name: /^Approval/ })
    await card.waitFor()
    expect(await card.getByLabel('content').inputValue()).toContain('<svg')
    await card.getByRole('button', { name: 'Approve' }).click()
    await tab.getByRole('list', { name: 'Files' }).getByText('chart.svg').click()
    await tab.locator('iframe[title="chart.svg"]').waitFor()
    await tab.getByRole('button', { name: 'Close' }).click()
    await tab.getByText('You redirected the agent').waitFor()
    await tab.getByText('That was the tour').waitFor({ timeout: 60_000 })
    const { blocks } = await page.client.timeline(id)
    const calls = blocks.flatMap(({ type, text }) =>
      type === 'react.tool.call' ? [(JSON.parse(text ?? '{}') as { tool_id: string }).tool_id] : [],
    )
    for (const tool of ['react.plan', 'react.read', 'react.write', 'react.search_files', 'exec_tools.execute_code_javascript'])
      expect(calls).toContain(tool)
    const answers = blocks.flatMap(({ type, text }) => (type === 'assistant.completion' ? [text ?? ''] : []))
    expect(answers.some((text) => text.includes('[[S:'))).toBe(true)
    expect(answers.join('\n')).toContain('271.00') // 49.50 + 179.00 + 42.50 in Oslo
    expect(answers.join('\n')).toContain('Computed by a program over the whole file.')
    expect(answers.at(-1)).toContain('the ferry is the limit')
    await tab.getByRole('button', { name: 'End the tour' }).click()
    await tab.getByText('That was the tour').waitFor({ state: 'detached' })
  })
})

describe('the tour on a machine without a sandbox', () => {
  const page = tourPage(undefined)

  it('approves the call by itself, and the answer says that no program has run', async () => {
    const tab = await page.open()
    await startTour(tab)
    await tab.getByRole('region', { name: /^Approval/ }).waitFor({ timeout: 60_000 })
    await tab.getByText('Programs can not run here').waitFor({ timeout: 60_000 })
    await tab.getByRole('list', { name: 'Files' }).getByText('chart.svg').waitFor()
    await tab.getByRole('button', { name: 'End the tour' }).click()
    await tab.waitForTimeout(4_000)
    expect(await tab.getByText('Write a summary of all files.').count()).toBe(0) // an ended tour sends nothing more
  })
})
