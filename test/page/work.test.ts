import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { heldAnswer, usePage } from '../support/page/page-fixture.ts'

const look = defineTool({
  id: 'shop.look',
  description: 'Looks.',
  params: z.object({ shelf: z.string() }),
  run: ({ shelf }) => (shelf === 'C' ? { ok: false, error: { code: 'dark', message: 'The light is off.' } } : `books on ${shelf}`),
})
const page = usePage({ tools: [look] })

const looks = (...shelves: readonly string[]) =>
  shelves.map((shelf) => reply.call('shop.look', { shelf }, { thinking: `Perhaps it is on ${shelf}.`, notes: `I look at ${shelf}.` }))

async function ask(text: string): Promise<Page> {
  const tab = await page.open()
  await tab.getByRole('textbox', { name: 'Message' }).fill(text)
  await tab.keyboard.press('Enter')
  return tab
}

it('the steps of many rounds are one list, which is open while the agent works and folds once when the answer begins', async () => {
  const held = heldAnswer(['It is', ' on D.'])
  page.say(...looks('A', 'B', 'C', 'D'), held.reply)
  const tab = await ask('Where is it?')
  const line = tab.getByRole('button', { name: /^4 steps/ })
  await line.waitFor()
  await expect.poll(() => line.getAttribute('aria-expanded')).toBe('true')
  const rows = tab.getByRole('button', { name: /^Shop look/ })
  expect(await rows.count()).toBe(4)
  held.release(1)
  await expect.poll(() => line.getAttribute('aria-expanded')).toBe('false')
  expect(await rows.count()).toBe(0)
  expect(await line.textContent()).toMatch(/^4 stepsShop look A · Shop look B.*1 failed/)
  await line.click()
  expect(await rows.count()).toBe(4)
  held.release()
  await tab.getByRole('button', { name: 'Copy answer' }).waitFor()
  expect(await line.getAttribute('aria-expanded')).toBe('true') // a person opened it
  await tab.reload()
  await line.waitFor()
  expect(await line.getAttribute('aria-expanded')).toBe('false')
  await line.click()
  await tab.getByRole('button', { name: /^Thought Perhaps it is on A/ }).waitFor() // a folded thought says what it is about
})

it('the list stays open if a person has opened a step in it', async () => {
  const held = heldAnswer(['It is', ' on B.'])
  page.say(...looks('A', 'B'), held.reply)
  const tab = await ask('Where is it?')
  await tab.getByRole('button', { name: /^Shop look A/ }).click()
  await tab.getByText('books on A').first().waitFor()
  held.release(1)
  await tab.getByText('It is', { exact: true }).waitFor()
  await tab.waitForTimeout(200)
  await tab.getByText('books on A').first().waitFor()
  const line = tab.getByRole('button', { name: /^2 steps/ })
  await line.click()
  await tab.getByText('books on A').first().waitFor({ state: 'hidden' })
  await line.click()
  await tab.getByText('books on A').first().waitFor() // folding the list does not fold the step
  held.release()
  await tab.getByRole('button', { name: 'Copy answer' }).waitFor()
})

it('one step needs no line above it', async () => {
  page.say(reply.call('shop.look', { shelf: 'A' }), reply.answer('It is on A.'))
  const tab = await ask('Where is it?')
  await tab.getByText('It is on A.').waitFor()
  await tab.getByRole('button', { name: /^Shop look A/ }).waitFor()
  expect(await tab.getByRole('button', { name: /^\d+ steps?/ }).count()).toBe(0)
})

it('the panel beside the conversation has the width that a person gives it, by pointer or keyboard, and closes with Esc', async () => {
  page.say(
    reply.call('react.write', { path: 'files/notes.md', channel: 'canvas', content: '# The notes', kind: 'display' }),
    reply.answer('I wrote the notes.'),
  )
  const tab = await page.open('/', { width: 1400, height: 800 })
  await tab.getByRole('textbox', { name: 'Message' }).fill('Write notes.')
  await tab.keyboard.press('Enter')
  await tab.getByRole('button', { name: /Wrote notes.md/ }).click()
  const show = tab.getByRole('button', { name: 'Show the document' })
  await show.click()
  const panel = tab.getByRole('complementary', { name: 'notes.md' })
  const handle = tab.getByRole('separator', { name: 'Width of the panel' })
  const widthOf = async () => Math.round((await panel.boundingBox())?.width ?? 0)
  const before = await widthOf()
  const edge = await handle.boundingBox()
  if (!edge) throw new Error('the panel has no edge')
  await tab.mouse.move(edge.x + edge.width / 2, edge.y + 200)
  await tab.mouse.down()
  await tab.mouse.move(edge.x + edge.width / 2 + 120, edge.y + 220, { steps: 4 })
  await tab.mouse.up()
  await expect.poll(widthOf).toBe(before - 120)
  await tab.keyboard.press('ArrowLeft')
  await expect.poll(widthOf).toBe(before - 88)
  expect(await handle.getAttribute('aria-valuenow')).toBe(String(before - 88))
  // two keys before the next frame: the second one counts from the width after the first
  await handle.evaluate(async (separator) => {
    for (const key of ['ArrowRight', 'ArrowRight']) {
      separator.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))
      await Promise.resolve()
    }
  })
  await expect.poll(widthOf).toBe(before - 152)
  await tab.keyboard.press('End')
  await expect.poll(widthOf).toBe(320)
  await tab.keyboard.press('Escape')
  await panel.waitFor({ state: 'detached' })
  await show.click()
  expect(await widthOf()).toBe(320)
  await handle.dblclick()
  await expect.poll(widthOf).toBe(before)
  await tab.setViewportSize({ width: 700, height: 800 })
  await expect.poll(widthOf).toBe(700)
  expect(await handle.isVisible()).toBe(false)
})
