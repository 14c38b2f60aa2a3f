import { afterAll, describe, expect, it } from 'vitest'
import { createDocumentRenderer } from '../../src/adapters/documents/renderer.ts'
import type { DocumentKind } from '../../src/ports/documents.ts'
import { hasBrowser, renderWith } from './render.ts'

const renderer = createDocumentRenderer({ browser: false })
const hasty = createDocumentRenderer({ browser: false, limits: { timeoutMs: 2_000 } })
afterAll(() => Promise.all([renderer.close(), hasty.close()]))

/** How a document ends: `made`, or the reason of its failure. */
const endOf = (rendering: Promise<unknown>) =>
  rendering.then(
    () => 'made',
    (error: { details?: { reason?: string } }) => error.details?.reason ?? String(error),
  )

const kinds: readonly DocumentKind[] = ['docx', 'pptx']

describe('content that takes minutes to read', () => {
  const endless = '<p>a</p>'.repeat(600_000)

  it.each(kinds)('ends within the limit, and the process goes on meanwhile: %s', async (kind) => {
    let ticks = 0
    const timer = setInterval(() => void ticks++, 20)
    const ended = await endOf(renderWith(hasty)({ kind, format: 'html', content: endless }))
    clearInterval(timer)
    expect(['timeout', 'memory']).toContain(ended)
    expect(ticks).toBeGreaterThan(10)
    expect(await endOf(renderWith(renderer)({ kind, format: 'html', content: '<p>well</p>' }))).toBe('made')
  })

  it('ends when its call is cancelled', async () => {
    const controller = new AbortController()
    const rendering = renderWith(renderer)({ kind: 'pptx', format: 'html', content: endless, signal: controller.signal })
    setTimeout(() => controller.abort(), 300)
    expect(await endOf(rendering)).toBe('cancelled')
    expect(await endOf(renderer.mentions(endless, 'html', { signal: controller.signal }))).toBe('cancelled')
  })

  it('fails when the renderer is closed', async () => {
    const closing = createDocumentRenderer({ browser: false })
    const all = [1, 2, 3].map(() => endOf(renderWith(closing)({ kind: 'docx', format: 'html', content: endless })))
    await closing.close()
    for (const ended of await Promise.all(all)) expect(['timeout', 'unavailable']).toContain(ended)
  })
})

describe('Markdown made to take long', () => {
  it.each([
    ['equal headings', '# a\n'.repeat(40_000)],
    ['charts in charts', '```chart bar\n'.repeat(30_000)],
    ['open brackets', '[a'.repeat(100_000)],
    ['quotes in quotes', '>'.repeat(500_000)],
  ])('is read: %s', async (_, content) => {
    expect(await renderer.mentions(content, 'markdown')).toEqual([])
  })

  it('gives equal headings different anchors', async () => {
    const { documentPage } = await import('../../src/adapters/documents/browser/page-html.ts')
    const content = '# a\n\n# a-2\n\n# a\n\n# a\n\n# b'
    const page = await documentPage({ kind: 'pdf', format: 'markdown', content, sources: [], listSources: false, now: '' })
    expect([...page.html.matchAll(/<h1[^>]* id="([^"]*)"/g)].map(([, id]) => id)).toEqual(['a', 'a-2', 'a-3', 'a-4', 'b'])
  })
})

describe.skipIf(!hasBrowser)('a renderer that is closed', () => {
  it('ends the documents that still wait, and starts no browser for them', async () => {
    const closing = createDocumentRenderer()
    const all = [1, 2, 3].map(() => endOf(renderWith(closing)({ kind: 'pdf', format: 'markdown', content: '# A' })))
    await closing.close()
    for (const ended of await Promise.all(all)) expect(['unavailable', 'failed', 'timeout']).toContain(ended)
  })

  it('fails a waiting document while another one is made', async () => {
    const closing = createDocumentRenderer()
    const render = renderWith(closing)
    await render({ kind: 'pdf', format: 'markdown', content: '# warm' })
    const slow = endOf(render({ kind: 'pdf', format: 'html', content: '<script>for (;;) {}</script>' }))
    const waiting = endOf(render({ kind: 'pdf', format: 'markdown', content: '# B' }))
    setTimeout(() => void closing.close(), 500)
    expect([await slow, await waiting]).toEqual(['failed', 'unavailable'])
  })

  it('is not asked for a call that was cancelled while it waited', async () => {
    const controller = new AbortController()
    controller.abort()
    const own = createDocumentRenderer()
    expect(await endOf(renderWith(own)({ kind: 'png', format: 'html', content: 'x', signal: controller.signal }))).toBe('cancelled')
    await own.close()
  })
})
