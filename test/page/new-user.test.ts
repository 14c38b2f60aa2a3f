import { expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createOfflineModel } from '../../src/offline/index.ts'
import { openMemoryWorkspaces } from '../../src/wiring/memory-workspaces.ts'
import { hostingOn } from '../support/hosting.ts'
import { usePage } from '../support/page/page-fixture.ts'

const blobs = createMemoryBlobs()
const store = createMemoryStore({ blobs, clock: createSystemClock() })
const page = usePage({
  model: createOfflineModel(),
  store,
  workspaces: openMemoryWorkspaces(store.blobs),
  hosting: hostingOn(blobs).hosting,
  settings: { sources: { eligibleMimes: ['text/csv'] } },
  approve: { 'react.write': 'ask' },
})

it('a person attaches a table, asks for a report, approves the file and downloads it', async () => {
  const tab = await page.open('/', { width: 1440, height: 900 })
  const buffer = Buffer.from('order,city,price\n1,Bergen,189.90\n2,Oslo,49.50\n')
  await tab.locator('input[type=file]').first().setInputFiles({ name: 'orders.csv', mimeType: 'text/csv', buffer })
  await tab.getByRole('textbox', { name: 'Message' }).fill('Write a report about this file')
  await tab.keyboard.press('Enter')

  const card = tab.getByRole('region', { name: /^Approval/ })
  await card.waitFor()
  expect(await card.getByRole('heading').innerText()).toBe('Save report.md')
  expect(await card.getByLabel('Channel').isVisible()).toBe(false)
  await card.getByText('More settings').click()
  expect(await card.getByLabel('Channel').isVisible()).toBe(true)
  await tab.getByRole('link', { name: /^Waiting 1$/ }).waitFor({ timeout: 5_000 }) // earlier than the next refresh of the list
  await expect.poll(() => card.getByLabel('Content').inputValue()).toMatch(/^# Report on orders\.csv.{200,}[^…]$/s) // the whole content
  expect(await card.getByLabel('Path').isEnabled()).toBe(true)
  expect(await card.getByText('shown in part').count()).toBe(0)
  await card.getByRole('button', { name: 'Approve' }).click()

  await tab.getByRole('button', { name: 'Copy answer' }).waitFor()
  await tab.getByRole('button', { name: /^Plan 2 of 2 done/ }).waitFor()
  await tab.getByRole('img', { name: 'running or waiting' }).waitFor({ state: 'detached', timeout: 5_000 })
  await tab.getByRole('link', { name: /^Waiting$/ }).waitFor({ timeout: 5_000 })
  expect(await tab.getByRole('button', { name: /^Source 1:/ }).textContent()).toBe('orders.csv') // the name, as while it was written
  const [download] = await Promise.all([
    tab.waitForEvent('download'),
    tab
      .getByRole('link', { name: /^Download/ })
      .or(tab.getByRole('button', { name: /^Download/ }))
      .first()
      .click(),
  ])
  expect(download.suggestedFilename()).toBe('report.md')
})
