import { afterAll, describe, expect, it } from 'vitest'
import { pdf } from '../../../test/support/sample-files/pdf.ts'
import { createPdfReader } from './pdf.ts'

const reader = createPdfReader()
afterAll(() => reader.close())

describe('the PDF reader', () => {
  it('starts no thread for a document that still waits when it is closed', async () => {
    const closing = createPdfReader({ threads: 1 })
    const [first, waiting] = ['a', 'b'].map((text) => closing.pdf(pdf([text])))
    await Promise.all([
      closing.close(),
      expect(first).rejects.toMatchObject({ code: 'document.unreadable' }),
      expect(waiting).rejects.toMatchObject({ details: { reason: 'reader_closed' } }),
    ])
    await expect(closing.pdf(pdf(['c']))).rejects.toMatchObject({ details: { reason: 'reader_closed' } })
  })

  it('counts pages and reads the text of each, in order', async () => {
    expect(await reader.pdf(pdf(['The first page', 'The (second) page', 'And the last']))).toEqual({
      pages: 3,
      text: ['The first page', 'The (second) page', 'And the last'],
    })
    expect(await reader.pdf(pdf(['Packed words'], { compressed: true }))).toEqual({ pages: 1, text: ['Packed words'] })
  })

  it('reads no more pages than requested', async () => {
    const bytes = pdf(['one', 'two', 'three'])
    expect(await reader.pdf(bytes, { maxPages: 0 })).toEqual({ pages: 3, text: [] })
    expect(await reader.pdf(bytes, { maxPages: 2 })).toEqual({ pages: 3, text: ['one', 'two'] })
  })

  it('does not change the bytes of the caller', async () => {
    const bytes = pdf(['one'])
    await reader.pdf(bytes)
    expect(bytes).toEqual(pdf(['one']))
  })

  it('rejects other content and encrypted documents, and reads the next document', async () => {
    const unreadable = { code: 'document.unreadable' }
    await expect(reader.pdf(Buffer.from('not at all'))).rejects.toMatchObject({ ...unreadable, details: { reason: 'damaged' } })
    const protection = '<< /Filter /Standard /V 1 /R 2 /O <00> /U <00> /P -1 >>'
    const encrypted = pdf(['x'], { extra: [protection], trailer: '/Encrypt 6 0 R /ID [<00> <00>] ' })
    await expect(reader.pdf(encrypted)).rejects.toMatchObject(unreadable)
    expect((await reader.pdf(pdf(['well']))).text).toEqual(['well'])
  })

  it('reads concurrent requests, each with its own result', async () => {
    const bytes = (name: string) => pdf([name])
    const [a, broken, b] = await Promise.allSettled([reader.pdf(bytes('a')), reader.pdf(Buffer.from('x')), reader.pdf(bytes('b'))])
    expect([a, b]).toMatchObject([{ value: { text: ['a'] } }, { value: { text: ['b'] } }])
    expect(broken.status).toBe('rejected')
  })

  it('reads the document of a user while another user has many slow documents', async () => {
    const hasty = createPdfReader({ timeoutMs: 5_000 }) // on a busy machine a thread takes a second to start
    const slow = pdf(['x'], { contents: Buffer.alloc(300 * 1024 * 1024, '0 ') })
    const ended: string[] = []
    const read = (user: string, bytes: Uint8Array) =>
      hasty
        .pdf(bytes, { user })
        .then(
          () => 'read',
          () => 'failed',
        )
        .then((outcome) => void ended.push(`${user}: ${outcome}`))
    const many = 20 // together they take at least 50 seconds
    const all = [...Array.from({ length: many }, () => read('eve', slow)), read('ann', pdf(['well']))]
    await all.at(-1)
    expect(ended.filter((outcome) => outcome === 'eve: failed').length).toBeLessThan(many)
    expect(ended.at(-1)).toBe('ann: read')
    await hasty.close()
    await Promise.all(all) // closing ends the documents that still wait
  })

  it('ends the thread of a document that takes too long, and starts another for the next', async () => {
    const hasty = createPdfReader({ timeoutMs: 1_000 })
    // 300 MB of numbers without an operator, compressed to a third of a megabyte
    const endless = pdf(['x'], { contents: Buffer.alloc(300 * 1024 * 1024, '0 ') })
    await expect(hasty.pdf(endless)).rejects.toMatchObject({ code: 'document.unreadable', details: { reason: 'too_slow' } })
    await hasty.close()
    expect((await reader.pdf(pdf(['well']))).text).toEqual(['well'])
  })
})
