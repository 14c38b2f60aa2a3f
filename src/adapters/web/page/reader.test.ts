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
