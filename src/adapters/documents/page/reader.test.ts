import { afterAll, expect, it } from 'vitest'
import { createPageReader } from './reader.ts'

const reader = createPageReader()
afterAll(() => reader.close())
const url = 'https://a.example/'

it('reads several pages at the same time, each with its own result', async () => {
  const pages = await Promise.all([1, 2, 3, 4, 5].map((n) => reader.read(Buffer.from(`<title>t${n}</title><p>page ${n}</p>`), { url })))
  expect(pages.map(({ title, markdown }) => `${title}: ${markdown}`)).toEqual([1, 2, 3, 4, 5].map((n) => `t${n}: page ${n}`))
})

it('ends the thread of a page that takes too long, and reads the next page', async () => {
  const hasty = createPageReader({ timeoutMs: 1, threads: 1 })
  const large = Buffer.from('<div><p>word, </p>'.repeat(300_000))
  await expect(hasty.read(large, { url })).rejects.toMatchObject({ code: 'document.unreadable' })
  await hasty.close()
  expect((await reader.read(Buffer.from('<p>well'), { url })).markdown).toBe('well')
})

it('a closed reader starts no thread for pages that still wait', async () => {
  const closing = createPageReader({ threads: 1 })
  const pages = Array.from({ length: 20 }, () => closing.read(Buffer.from('<p>x'), { url }))
  await closing.close()
  const ends = await Promise.allSettled(pages)
  expect(ends.map(({ status }) => status)).toEqual(Array(20).fill('rejected'))
})

it('reads the page of a user while another user has many slow pages', async () => {
  const busy = createPageReader({ timeoutMs: 1_500 })
  const slow = Buffer.from('<div><b><i><p>word, </p>'.repeat(400_000)) // takes more than a second
  const ended: string[] = []
  const read = (user: string, html: Uint8Array) =>
    busy.read(html, { url, user }).then(
      () => void ended.push(user),
      () => void ended.push(user),
    )
  const all = [...Array.from({ length: 10 }, () => read('eve', slow)), read('ann', Buffer.from('<p>well'))]
  await all.at(-1)
  expect(ended.filter((user) => user === 'eve').length).toBeLessThan(10)
  await busy.close()
  await Promise.all(all)
})
