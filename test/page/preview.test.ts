import { afterAll, beforeAll, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { hostingOn } from '../support/hosting.ts'
import { usePage } from '../support/page/page-fixture.ts'
import { connections, openTrap, scripts, type Trap } from '../support/page/trap.ts'
import { pdf } from '../support/sample-files/pdf.ts'
import { fileWritingTool } from '../support/scenario-tools.ts'

/** A tool that makes a PDF for the user. */
const pdfTool: Tool = {
  ...fileWritingTool(),
  id: 'sample.pdf',
  exec: false,
  async run(_, { workspace, origin }) {
    const path = `${origin.turnId}/outputs/report.pdf`
    await (await workspace()).files.write(path, pdf(['The first page', 'The second page']))
    return { ok: true, output: { artifact_type: 'files', files: [{ physical_path: path, visibility: 'external' }] } }
  },
}

const blobs = createMemoryBlobs()
const store = createMemoryStore({ blobs, clock: createSystemClock() })
const page = usePage({ store, hosting: hostingOn(blobs).hosting, tools: [pdfTool] })
let trap: Trap
beforeAll(async () => {
  trap = await openTrap()
})
afterAll(() => trap.close())

const write = (name: string, content: string) =>
  reply.call('react.write', { path: `files/${name}`, channel: 'canvas', content, kind: 'file' })

/** Asks for files, and opens the last of them. */
async function openFile(name: string, ...calls: readonly string[]) {
  page.say(...calls, reply.answer('Here it is.'))
  const tab = await page.open()
  await tab.getByRole('textbox', { name: 'Message' }).fill('Make a file.')
  await tab.keyboard.press('Enter')
  await tab.getByText('Here it is.').waitFor()
  await tab.getByRole('list', { name: 'Files' }).getByText(name).click()
  return tab
}

it('a CSV file is a table', async () => {
  const tab = await openFile('sales.csv', write('sales.csv', 'city,sold\nRome,"1,200"\nOslo,7\n'))
  await tab.getByRole('columnheader', { name: 'city' }).waitFor()
  expect(await tab.getByRole('cell').allTextContents()).toEqual(['Rome', '1,200', 'Oslo', '7'])
  await tab.getByText('2 rows').waitFor()
})

it('a Markdown file is shown with its headings', async () => {
  const tab = await openFile('report.md', write('report.md', '# The report\n\nIt is **good**.'))
  await tab.getByRole('heading', { name: 'The report' }).waitFor()
})

it('a PDF is drawn page by page', async () => {
  const tab = await openFile('report.pdf', reply.call('sample.pdf', { contract: [] }))
  await tab.locator('canvas[data-drawn]').first().waitFor()
  expect(await tab.getByRole('img', { name: /^Page/ }).count()).toBe(2)
})

it('a web page is shown in the viewer, and neither runs nor connects', async () => {
  page.expectProblems(/./) // the browser reports what it has blocked
  const html = `<h1>The page</h1>${scripts().join('')}${connections(trap.port).join('')}`
  const tab = await openFile('site.html', write('site.html', html))
  await tab.frameLocator('iframe').frameLocator('iframe').getByRole('heading', { name: 'The page' }).waitFor()
  await tab.getByText('Scripts and links in the file do nothing here.').waitFor()
  await tab.waitForTimeout(300)
  expect(trap.requests).toEqual([])
})

it('a picture is shown in the viewer with its own height', async () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="45"><rect width="60" height="45"/></svg>'
  const tab = await openFile('chart.svg', write('chart.svg', svg))
  const frame = tab.locator('iframe[title="chart.svg"]')
  await frame.waitFor()
  await expect.poll(async () => (await frame.boundingBox())?.height).toBe(47)
})
