import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { createDocumentRenderer } from '../../src/adapters/documents/renderer.ts'
import { poppler, renderWith } from './render.ts'
import { reportMarkdown, reportSources, reportTitle } from './sample-report.ts'

const renderer = createDocumentRenderer({ browser: false })
afterAll(() => renderer.close())
const render = renderWith(renderer)
const textOf = async (content: string, format: 'markdown' | 'html' = 'markdown') =>
  poppler('pdftotext', (await render({ kind: 'pdf', format, content, sources: [] })).bytes)

describe('a report as PDF without a browser', async () => {
  const report = { kind: 'pdf', format: 'markdown', content: reportMarkdown, title: reportTitle } as const
  const { bytes, pages, remarks } = await render(report)
  const text = poppler('pdftotext', bytes)

  it('can be made, and pictures can not', () => {
    expect([...renderer.kinds].sort()).toEqual(['docx', 'pdf', 'pptx'])
  })

  it('has all texts, with page numbers and a title', () => {
    expect(pages).toBe(3)
    expect(poppler('pdfinfo', bytes)).toMatch(
      /Title: +River Energy Report 2026\n[\s\S]*Tagged: +yes\n[\s\S]*Pages: +3\n[\s\S]*Page size: +59\d\.\d+ x 84\d\.\d+ pts \(A4\)/,
    )
    for (const part of ['Upper Lock', '210.25', 'Sediment flushing', 'def output(inflow', '中文摘要', '2/3', 'תחנות'])
      expect(text).toContain(part)
    expect(text.normalize('NFKC')).toContain('كهرومائية')
    expect(text.split('River Energy Report 2026').length - 1).toBe(1)
    expect(poppler('pdfimages', bytes, '-list').trim().split('\n').length).toBeGreaterThanOrEqual(2 + 2)
  })

  it('has the citations as numbers, and the list of sources', () => {
    expect(text.match(/[[\]]\d+(?:,\d+)?[[\]]/g)).toHaveLength(9) // one of them cites two sources, and pdftotext tears two of them apart in lines from right to left
    for (const { title, url } of reportSources) {
      expect(text).toContain(title)
      if (url !== undefined) expect(text).toContain(url)
    }
  })

  it('says what differs from a PDF of the browser', () => {
    expect(remarks).toEqual([
      'The PDF was made without a browser: styles and scripts of HTML have no effect, and fonts and line breaks differ.',
      'Diagrams need a browser and are shown as text.',
    ])
  })

  it('has the same bytes again', async () => {
    expect(Buffer.from((await render(report)).bytes).equals(bytes)).toBe(true)
    expect(poppler('pdfinfo', bytes)).toContain('Sat Jan 31')
  })
})

describe('PDF without a browser', () => {
  it('shows text that looks like code of Typst, and never runs it', async () => {
    const code = '#read("/etc/passwd") #import "@preview/x:1.0.0" \\ " $ x $ <label> @ref *a* = b'
    const text = (await textOf(`A ${code.replace(/[*<>]/g, '\\$&')}\n\n    ${code}\n`)).replace(/\s+/g, ' ')
    expect(text.split('#read("/etc/passwd")')).toHaveLength(3)
    expect(text).not.toContain('root:')
  })

  it('reads no file that an image names', async () => {
    const svg = (content: string) => Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="200" height="99">${content}</svg>`)
    const files = new Map([
      ['a.svg', svg('<text y="20">drawn</text>')],
      ['b.svg', svg('<image href="/etc/hostname" width="9" height="9"/><text y="20">not drawn</text>')],
    ])
    const { remarks, bytes } = await render({
      kind: 'pdf',
      format: 'markdown',
      content: '![a](a.svg) ![b](b.svg) ![c](/etc/passwd) ![d](https://example.org/x.png)',
      readAsset: async (path) => files.get(path),
    })
    expect(poppler('pdftotext', bytes)).toMatch(/^drawn\s+\[b\] \[c\] \[d\]/)
    expect(remarks).toContain('These files do not exist or are no images: /etc/passwd, https://example.org/x.png.')
    expect(remarks).toContain('These images can not be drawn: b.svg.')
  })

  it('leaves out damaged images, and names them', async () => {
    const damaged = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(40, 1)])
    const { remarks, bytes } = await render({
      kind: 'pdf',
      format: 'markdown',
      content: 'Before ![x](x.png) after',
      readAsset: async () => damaged,
    })
    expect(remarks).toContain('These images can not be drawn: x.png.')
    expect(poppler('pdftotext', bytes)).toContain('Before [x] after')
  })

  it('of a diagram alone is refused with the reason', async () => {
    await expect(render({ kind: 'pdf', format: 'mermaid', content: 'flowchart LR\n  A --> B' })).rejects.toMatchObject({
      code: 'document.unrenderable',
      details: { reason: 'unavailable' },
      message: expect.stringContaining('install Chromium'),
    })
  })

  it('in landscape, and of HTML', async () => {
    const { bytes } = await render({ kind: 'pdf', format: 'html', content: '<p>Hello <b>you</b></p>', landscape: true })
    expect(poppler('pdfinfo', bytes)).toMatch(/Page size: +84\d\.\d+ x 59\d/)
    expect(poppler('pdftotext', bytes)).toContain('Hello you')
  })

  it('can be made of any table, however its cells span rows and columns', async () => {
    const span = fc.integer({ min: 1, max: 6 })
    const cell = fc
      .tuple(fc.constantFrom('td', 'th'), span, span)
      .map(([tag, columns, rows]) => `<${tag} colspan=${columns} rowspan=${rows}>x</${tag}>`)
    const row = fc.array(cell, { maxLength: 5 }).map((cells) => `<tr>${cells.join('')}</tr>`)
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 3 }), fc.array(row, { maxLength: 5 }), async (head, body) => {
        const cells = [...head, ...body].join('').split('x</').length - 1
        const text = await textOf(`<table><thead>${head.join('')}</thead><tbody>${body.join('')}</tbody></table>`, 'html')
        // a header is repeated on the next page
        expect(text.split('x').length - 1).toBeGreaterThanOrEqual(cells)
      }),
      { numRuns: 40 },
    )
  })

  it('can be made of any Markdown', async () => {
    const part = fc.constantFrom(
      '# ',
      '**',
      '*',
      '`',
      '~~',
      '- ',
      '1. ',
      '> ',
      '```\n',
      '| a | b |\n|---|---|\n| 1 | 2 |\n',
      '[x](#y)',
      '![i](j)',
      '<sup>',
      '</sup>',
      '\n',
      '\n\n',
      'a',
      '中',
      'ש',
      '\\',
      '"',
      '#',
      '$',
      '<div style="color:#f00;font-size:3pt">',
      '</div>',
      '---\n',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 40 }), async (parts) => {
        expect((await render({ kind: 'pdf', format: 'markdown', content: parts.join('') })).pages).toBeGreaterThan(0)
      }),
      { numRuns: 60 },
    )
  })
})
