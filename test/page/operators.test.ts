import { afterAll, beforeAll, expect, it } from 'vitest'
import { bearer, tokenOf } from '../support/hostile/fixture.ts'
import { startBrowser, type TestBrowser } from '../support/page/browser.ts'
import { closeServers, openServer } from '../support/server-fixture.ts'

let browser: TestBrowser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(async () => {
  await browser.close()
  await closeServers()
})

it.each(['timeline', 'prompt', 'cost', 'sources', 'effects', 'replay'])('a person who is no operator is told so: %s', async (screen) => {
  const { server } = await openServer({ server: { auth: bearer } })
  const token = tokenOf({ tenant: 'acme', project: 'main', sub: 'ann' })
  const tab = await browser.open(`${server.url}/settings`)
  await tab.evaluate((value) => sessionStorage.setItem('daybook.token', value), token)
  await tab.goto(`${server.url}/c/plans/${screen}`)
  await tab.getByText('These screens are for operators.').waitFor()
  await browser.closePages()
  expect(browser.takeProblems().filter((problem) => !/40[13]/.test(problem))).toEqual([])
})
