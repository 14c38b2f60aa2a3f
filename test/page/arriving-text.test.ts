import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { reply } from '../../src/testing/scripted-model.ts'
import { heldAnswer, usePage } from '../support/page/page-fixture.ts'
import { answered, viewWhen } from '../support/server-fixture.ts'

const page = usePage()

const part = (index: number) => `## Part ${index}\n\nThe word of this part is w${index}w. ${'More words follow here. '.repeat(12)}\n\n`
const partsFrom = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => part(from + index)).join('')
const wordsFrom = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `w${from + index}w`)
const wordsIn = (text: string): readonly string[] => text.match(/w\d+w/g) ?? []

async function openNew(): Promise<{ readonly tab: Page; readonly id: string }> {
  const { id } = await page.client.conversations.create()
  const tab = await page.open(`/c/${id}`)
  await tab.getByRole('textbox', { name: 'Message' }).waitFor()
  return { tab, id }
}

async function ask(tab: Page) {
  await tab.getByRole('textbox', { name: 'Message' }).fill('Write much.')
  await tab.keyboard.press('Enter')
}

/** The words of the whole answer, as the page gives it to other programs: of its markdown and of its elements. */
async function copiedWords(tab: Page) {
  await tab.getByRole('button', { name: 'Copy answer' }).click()
  await tab.getByRole('button', { name: 'Copied' }).waitFor()
  const read = (type: string) =>
    tab.evaluate<string>(`navigator.clipboard.read().then(([item]) => item.getType('${type}')).then((blob) => blob.text())`)
  return { markdown: wordsIn(await read('text/plain')), elements: wordsIn(await read('text/html')) }
}

/** Watches how many pieces of the answer each frame adds and removes. */
const watchPieces = (tab: Page) =>
  tab.evaluate(`{
    let before = 0
    window.pieces = { mostAdded: 0, mostRemoved: 0 }
    const frame = () => {
      const now = document.querySelectorAll('[data-answer] > .prose > *').length
      pieces.mostAdded = Math.max(pieces.mostAdded, now - before)
      pieces.mostRemoved = Math.max(pieces.mostRemoved, before - now)
      before = now
      requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  }`)
const watchedPieces = (tab: Page) => tab.evaluate<{ mostAdded: number; mostRemoved: number }>('pieces')

/** Makes the page believe that it is hidden, or visible again. */
const setHidden = (tab: Page, hidden: boolean) =>
  tab.evaluate(`{
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${hidden} })
    document.dispatchEvent(new Event('visibilitychange'))
  }`)

it('a long text that arrives at once is drawn in steps, is followed to its end, and is complete', async () => {
  const { tab } = await openNew()
  await watchPieces(tab)
  page.say(reply.answer(partsFrom(0, 1200)))
  await ask(tab)
  await tab.getByRole('heading', { name: 'Part 1199' }).waitFor()
  expect((await watchedPieces(tab)).mostAdded).toBeLessThan(12)
  await expect.poll(() => tab.getByRole('log').evaluate((log) => log.scrollHeight - log.clientHeight - log.scrollTop)).toBeLessThan(3)
  expect(await copiedWords(tab)).toEqual({ markdown: wordsFrom(0, 1200), elements: wordsFrom(0, 1200) })
})

it('a turn that has ended while its text is still being drawn can be copied as a whole', async () => {
  const { tab } = await openNew()
  page.say(reply.answer(partsFrom(0, 1200)))
  await ask(tab)
  expect(await copiedWords(tab)).toEqual({ markdown: wordsFrom(0, 1200), elements: wordsFrom(0, 1200) })
})

it('an answer that is stopped while much text arrives shows exactly what was stored', async () => {
  const { tab, id } = await openNew()
  const held = heldAnswer([partsFrom(0, 600), partsFrom(600, 800)])
  page.say(held.reply)
  await ask(tab)
  held.release(1)
  await tab
    .getByRole('heading', { name: /^Part \d+$/ })
    .first()
    .waitFor({ state: 'attached' }) // the first parts may be far above the screen already
  await tab.keyboard.press('Escape')
  const view = await viewWhen(page.client, id, answered)
  const stored = view.turns[0]?.answers[0]
  expect(stored?.stopped).toBe(true)
  const words = wordsIn(stored?.text ?? '')
  expect(words).toEqual(wordsFrom(0, 600))
  expect(await copiedWords(tab)).toEqual({ markdown: words, elements: words })
})

it('a hidden page draws no text that arrives, and shows all of it when it is visible again', async () => {
  const { tab, id } = await openNew()
  const held = heldAnswer([partsFrom(0, 2), partsFrom(2, 600), partsFrom(600, 700)])
  page.say(held.reply)
  await ask(tab)
  held.release(1)
  await tab.getByRole('heading', { name: 'Part 1', exact: true }).waitFor()
  await setHidden(tab, true)
  held.release(1)
  await viewWhen(page.client, id, ({ live }) => live?.lanes.some(({ text }) => text.includes('w599w')) ?? false)
  await tab.waitForTimeout(700)
  expect(await tab.getByRole('heading', { name: 'Part 2', exact: true }).count()).toBe(0)
  await setHidden(tab, false)
  await tab.getByRole('heading', { name: 'Part 599', exact: true }).waitFor()
  await setHidden(tab, true)
  held.release()
  await viewWhen(page.client, id, answered)
  await tab.getByRole('button', { name: 'Copy answer' }).waitFor() // the end of a turn is shown in the title and the list of a hidden page
  await setHidden(tab, false)
  await tab.getByRole('heading', { name: 'Part 699', exact: true }).waitFor()
  expect(await copiedWords(tab)).toEqual({ markdown: wordsFrom(0, 700), elements: wordsFrom(0, 700) })
})

it('two tabs of which one was opened in the middle of a long text are equal at its end', async () => {
  const { tab: first, id } = await openNew()
  const held = heldAnswer([...Array.from({ length: 300 }, (_, index) => part(index)), partsFrom(300, 900)])
  page.say(held.reply)
  await ask(first)
  held.release(300)
  await first.getByRole('heading', { name: 'Part 299' }).waitFor()
  const second = await page.open(`/c/${id}`)
  await second.getByRole('heading', { name: 'Part 299' }).waitFor()
  held.release()
  for (const tab of [first, second]) {
    await tab.bringToFront()
    await tab.getByRole('heading', { name: 'Part 899' }).waitFor()
    expect(await copiedWords(tab)).toEqual({ markdown: wordsFrom(0, 900), elements: wordsFrom(0, 900) })
  }
})

it('while a long block of code grows, only its end changes in the document, and its text is complete', async () => {
  const { tab } = await openNew()
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => `let w${from + index}w = "${'x'.repeat(60)}"\n`).join('')
  const held = heldAnswer([`\`\`\`unknown\n${lines(0, 3000)}`, lines(3000, 3100), `${lines(3100, 3200)}\`\`\`\n`])
  page.say(held.reply)
  await ask(tab)
  held.release(1)
  const code = tab.locator('[data-answer] pre')
  await expect.poll(async () => wordsIn((await code.textContent()) ?? '').length).toBe(3000)
  await code.evaluate((element) => {
    const changed: number[] = []
    Object.assign(window, { changed })
    const observer = new MutationObserver((records) => {
      for (const { target, addedNodes } of records)
        for (const node of [...addedNodes, ...(target instanceof Text ? [target] : [])]) changed.push(node.textContent?.length ?? 0)
    })
    observer.observe(element, { childList: true, subtree: true, characterData: true })
  })
  held.release(1)
  await expect.poll(async () => wordsIn((await code.textContent()) ?? '').length).toBe(3100)
  held.release()
  await tab.getByRole('button', { name: 'Copy answer' }).waitFor()
  await expect.poll(async () => wordsIn((await code.textContent()) ?? '')).toEqual(wordsFrom(0, 3200))
  expect(Math.max(...(await tab.evaluate<number[]>('changed')))).toBeLessThan(20_000)
  const height = await code.evaluate((element) => element.scrollHeight / 22) // each line is 22 px high, and no line is added
  expect(Math.round(height)).toBe(3200)
})
