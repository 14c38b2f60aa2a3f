import { afterAll, describe, expect, it } from 'vitest'
import { pdf } from '../../../test/support/sample-files/pdf.ts'
import { createPdfReader } from './pdf.ts'

const reader = createPdfReader()
afterAll(() => reader.close())

describe('a PDF', () => {
  it('has its pages counted and the text of each read, in order', async () => {
    expect(await reader.pdf(pdf(['The first page', 'The (second) page', 'And the last']))).toEqual({
      pages: 3,
      text: ['The first page', 'The (second) page', 'And the last'],
    })
    expect(await reader.pdf(pdf(['Packed words'], { compressed: true }))).toEqual({ pages: 1, text: ['Packed words'] })
  })

  it('is read no further than asked', async () => {
    const bytes = pdf(['one', 'two', 'three'])
    expect(await reader.pdf(bytes, { maxPages: 0 })).toEqual({ pages: 3, text: [] })
    expect(await reader.pdf(bytes, { maxPages: 2 })).toEqual({ pages: 3, text: ['one', 'two'] })
  })

  it('stays the bytes of who gave it', async () => {
    const bytes = pdf(['one'])
    await reader.pdf(bytes)
    expect(bytes).toEqual(pdf(['one']))
  })

  it('that is none, or is protected, is unreadable, and the next one is read', async () => {
    const unreadable = { code: 'document.unreadable' }
    await expect(reader.pdf(Buffer.from('not at all'))).rejects.toMatchObject({ ...unreadable, details: { reason: 'damaged' } })
    const protection = '<< /Filter /Standard /V 1 /R 2 /O <00> /U <00> /P -1 >>'
    const encrypted = pdf(['x'], { extra: [protection], trailer: '/Encrypt 6 0 R /ID [<00> <00>] ' })
    await expect(reader.pdf(encrypted)).rejects.toMatchObject(unreadable)
    expect((await reader.pdf(pdf(['well']))).text).toEqual(['well'])
  })

  it('asked for side by side is read one after the other, each to its own answer', async () => {
    const bytes = (name: string) => pdf([name])
    const [a, broken, b] = await Promise.allSettled([reader.pdf(bytes('a')), reader.pdf(Buffer.from('x')), reader.pdf(bytes('b'))])
    expect([a, b]).toMatchObject([{ value: { text: ['a'] } }, { value: { text: ['b'] } }])
    expect(broken.status).toBe('rejected')
  })

  it('that is made to take for ever ends its thread, not the process, and the next has another', async () => {
    const hasty = createPdfReader({ timeoutMs: 1_000 })
    const endless = pdf(['x'], { contents: Buffer.alloc(300 * 1024 * 1024, '0 ') }) // operands without an operator, a third of a megabyte packed
    await expect(hasty.pdf(endless)).rejects.toMatchObject({ code: 'document.unreadable', details: { reason: 'too_slow' } })
    await hasty.close()
    expect((await reader.pdf(pdf(['well']))).text).toEqual(['well'])
  })
})
