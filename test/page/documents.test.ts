import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { reply } from '../../src/testing/scripted-model.ts'
import { usePage } from '../support/page/page-fixture.ts'

const page = usePage()

it('a document that the agent writes is shown beside the conversation', async () => {
  page.say(
    reply.call('react.write', {
      path: 'files/report/notes.md',
      channel: 'canvas',
      content: '# The notes\n\nAll is well.',
      kind: 'display',
    }),
    reply.answer('I wrote the notes.'),
  )
  const tab = await page.open()
  await tab.getByRole('textbox', { name: 'Message' }).fill('Write notes.')
  await tab.keyboard.press('Enter')
  await tab.getByText('I wrote the notes.').waitFor()
  await tab.getByRole('button', { name: /Wrote notes.md/ }).click()
  await tab.getByRole('button', { name: 'Show the document' }).click()
  const panel = tab.getByRole('complementary', { name: 'notes.md' })
  await panel.getByRole('heading', { name: 'The notes' }).waitFor()
  await panel.getByRole('button', { name: 'Close' }).click()
  expect(await panel.count()).toBe(0)
})

it('the first load is at most 200 KB', () => {
  const html = readFileSync('ui/dist/index.html', 'utf8')
  const files = [...html.matchAll(/"\.\/(page\/[^"]+)"/g)].map(([, path]) => path as string)
  expect(files.length).toBeGreaterThan(1)
  const bytes = files.reduce((sum, path) => sum + gzipSync(readFileSync(`ui/dist/${path}`)).length, gzipSync(html).length)
  expect(bytes).toBeLessThan(200_000)
})
