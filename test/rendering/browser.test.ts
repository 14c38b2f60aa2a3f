import { afterAll, describe, expect, it } from 'vitest'
import { defaultPicture } from '../../src/adapters/documents/browser/png.ts'
import { createDocumentRenderer } from '../../src/adapters/documents/renderer.ts'
import { readZip } from '../../src/tools/zip.ts'
import { hasBrowser, pngSize, poppler, renderWith } from './render.ts'
import { reportMarkdown, reportSources, reportTitle } from './sample-report.ts'

const renderer = createDocumentRenderer()
afterAll(() => renderer.close())
const render = renderWith(renderer)

describe.skipIf(!hasBrowser)('a report as PDF', async () => {
  const { bytes, pages, remarks } = await render({ kind: 'pdf', format: 'markdown', content: reportMarkdown, title: reportTitle })
  const text = poppler('pdftotext', bytes)

  it('has all texts, in four pages with numbers', () => {
    expect(remarks).toEqual([])
    expect(pages).toBe(4)
    expect(poppler('pdfinfo', bytes)).toMatch(
      /Title: +River Energy Report 2026\n[\s\S]*Pages: +4\n[\s\S]*Page size: +59\d\.\d+ x 84\d\.\d+ pts \(A4\)/,
    )
    const parts = [
      'Output by quarter (GWh)',
      'Forecast',
      '2,000',
      'Upper Lock',
      '210.25',
      'Sediment flushing',
      'def output(inflow',
      'Turbine',
      '中文摘要',
    ]
    for (const part of parts) expect(text).toContain(part)
    expect(text).toMatch(/3 ?\/ ?4/)
    expect(text.split('River Energy Report 2026').length - 1).toBe(1) // the title is not repeated above the first heading
  })

  it('has Arabic and Hebrew, and its images', () => {
    expect(text.normalize('NFKC')).toContain('كهرومائية')
    expect(text).toContain('תחנות')
    expect(poppler('pdfimages', bytes, '-list').trim().split('\n')).toHaveLength(2 + 2)
  })

  it('has 12 citations as numbers that lead to the list of sources', () => {
    expect(text.match(/[[\]]\d+(?:,\d+)?[[\]]/g)).toHaveLength(11) // one of them cites two sources
    for (const { title, url } of reportSources) {
      expect(text).toContain(title)
      if (url !== undefined) expect(text.replace(/\s/g, '')).toContain(url)
    }
    expect(text).not.toContain('[[S:')
  })

  it('has the same bytes again', async () => {
    const report = { kind: 'pdf', format: 'markdown', content: reportMarkdown, title: reportTitle } as const
    const first = await render(report)
    for (let round = 0; round < 4; round++) expect(firstDifference(first.bytes, (await render(report)).bytes)).toBe('none')
    expect(poppler('pdfinfo', first.bytes)).toContain('Sat Jan 31')
  })
})

/** The bytes around the first difference. */
function firstDifference(a: Uint8Array, b: Uint8Array): string {
  if (Buffer.compare(a, b) === 0) return 'none'
  const at = a.findIndex((byte, index) => byte !== b[index])
  const around = (bytes: Uint8Array) => Buffer.from(bytes.subarray(Math.max(0, at - 80), at + 80)).toString('latin1')
  return `at ${at} of ${a.length} and ${b.length}:\n${around(a)}\n---\n${around(b)}`
}

describe.skipIf(!hasBrowser)('PDF', () => {
  it('of HTML runs its scripts with the time of the call, and repeatable random numbers', async () => {
    const content =
      '<body><p id=p></p><script>setTimeout(() => { p.textContent = new Date().toISOString() + " " + Math.random().toFixed(6) }, 700)</script></body>'
    const [first, second] = [await render({ kind: 'pdf', format: 'html', content }), await render({ kind: 'pdf', format: 'html', content })]
    expect(poppler('pdftotext', first.bytes)).toMatch(/2026-01-31T12:00:00\.700Z 0\.\d{6}/)
    expect(poppler('pdftotext', second.bytes)).toBe(poppler('pdftotext', first.bytes))
  })

  it('in landscape, of a fragment, with a title and without a list of sources', async () => {
    const content = '<p>Hello<sup class="cite" data-sids="20"></sup></p>'
    const { bytes } = await render({ kind: 'pdf', format: 'html', content, title: 'A title', listSources: false, landscape: true })
    expect(poppler('pdfinfo', bytes)).toMatch(/Page size: +84\d\.\d+ x 59\d/)
    const text = poppler('pdftotext', bytes)
    expect(text).toMatch(/A title\s+Hello ?\[1\]/)
    expect(text).not.toContain('Sources')
    expect(Buffer.from(bytes).toString('latin1')).toContain('https://data.example/reports/2012?part=0&lang=en')
  })

  it('of a page that shows nothing says so, and names missing files', async () => {
    expect((await render({ kind: 'pdf', format: 'html', content: '<div></div>', sources: [] })).remarks).toEqual([
      'The document is blank: it shows no text and no picture.',
    ])
    const { remarks } = await render({ kind: 'pdf', format: 'html', content: 'x<img src="turn_1/files/none.png">' })
    expect(remarks).toEqual(['These files do not exist: turn_1/files/none.png.'])
  })

  it('of Markdown with a broken diagram shows the diagram as text and says why', async () => {
    const { bytes, remarks } = await render({
      kind: 'pdf',
      format: 'markdown',
      content: '# A\n\n```mermaid\nflowchart LR\n  A[ -->\n```\n',
    })
    expect(remarks.join()).toMatch(/^A diagram could not be drawn and is shown as text: Parse error/)
    expect(poppler('pdftotext', bytes)).toContain('A[ -->')
  })
})

describe.skipIf(!hasBrowser)('a table', () => {
  const cells = (count: number, text: (index: number) => string) =>
    `| ${Array.from({ length: count }, (_, index) => text(index)).join(' | ')} |`
  const tableOf = (count: number, text: (index: number) => string) =>
    [cells(count, (index) => `Column${index}`), cells(count, () => '---'), ...[1, 2].map(() => cells(count, text))].join('\n')
  const wordsOf = async (content: string) => {
    const { bytes } = await render({ kind: 'pdf', format: 'markdown', content, sources: [] })
    return poppler('pdftotext', bytes, '-layout')
  }

  it('with nine columns keeps its words whole', async () => {
    const text = await wordsOf(
      tableOf(9, (index) => (index === 8 ? 'a long remark about this row of the table '.repeat(4) : `Value${index}`)),
    )
    for (let index = 0; index < 9; index++) expect(text).toContain(`Column${index}`)
    expect(text.match(/Value0/g)).toHaveLength(2)
  })

  it('with more columns than a page has room for does not make the rest of the document smaller', async () => {
    const heights = async (columns: number) => {
      const content = `Reference\n\n${tableOf(columns, () => 'Incomprehensibilities')}`
      const { bytes } = await render({ kind: 'pdf', format: 'markdown', content, sources: [] })
      return /yMin="([\d.]+)"[^>]*yMax="([\d.]+)">Reference</.exec(poppler('pdftotext', bytes, '-bbox'))?.slice(1)
    }
    expect(await heights(40)).toEqual(await heights(2))
  })
})

describe.skipIf(!hasBrowser)('PNG', () => {
  const png = (content: string, picture = {}) =>
    render({ kind: 'png', format: 'html', content, sources: [], picture: { ...defaultPicture, delayMs: 0, scale: 1, ...picture } })

  it('tools 18.94 of a diagram with a syntax error is refused with the message of the parser', async () => {
    const failing = render({ kind: 'png', format: 'mermaid', content: 'flowchart LR\n  A[Start --> B' })
    await expect(failing).rejects.toMatchObject({
      code: 'document.unrenderable',
      details: { reason: 'content', code: 'MermaidSyntaxError' },
      message: expect.stringContaining('Parse error on line'),
    })
  })

  it('of a diagram is cut to the diagram, and has the same bytes again', async () => {
    const content = 'sequenceDiagram\n  Alice->>Bob: Hello\n  Bob-->>Alice: Hi'
    const first = await render({ kind: 'png', format: 'mermaid', content })
    const { width, height } = pngSize(first.bytes)
    expect(width).toBeGreaterThan(400)
    expect(width).toBeLessThan(2_000)
    expect(height).toBeLessThan(1_500)
    expect(Buffer.from((await render({ kind: 'png', format: 'mermaid', content })).bytes).equals(first.bytes)).toBe(true)
    const larger = await render({
      kind: 'png',
      format: 'mermaid',
      content,
      picture: { ...defaultPicture, mermaid: { theme: 'dark', scale: 2, fontSize: 20 } },
    })
    expect(pngSize(larger.bytes).width).toBeGreaterThan(1.5 * width)
  })

  it('is cut to the visible elements, to a selector, or not at all', async () => {
    const content =
      '<div style="margin:100px;width:200px;height:50px;background:red"></div><p id="q" style="position:absolute;left:500px;top:400px;width:80px;height:40px;margin:0;background:blue"></p>'
    expect(pngSize((await png(content, { padding: 0 })).bytes)).toEqual({ width: 480, height: 340 })
    expect(pngSize((await png(content, { selector: '#q', padding: 10 })).bytes)).toEqual({ width: 100, height: 60 })
    expect(pngSize((await png(content, { fit: 'page', width: 700, height: 300, fullPage: false })).bytes)).toEqual({
      width: 700,
      height: 300,
    })
    expect(pngSize((await png(content, { fit: 'page', width: 700, height: 300 })).bytes)).toEqual({ width: 700, height: 440 })
    expect(pngSize((await png(content, { padding: 0, zoom: 2, scale: 2 })).bytes).width).toBe(4 * 480)
    await expect(png(content, { selector: '#none' })).rejects.toMatchObject({ details: { reason: 'content' } })
    await expect(png(content, { selector: '<<' })).rejects.toMatchObject({ details: { reason: 'content' } })
  })

  it('has its padding on all sides, even if the content begins at the edge', async () => {
    const content = '<body style="margin:0"><div style="width:100px;height:50px;background:red"></div></body>'
    expect(pngSize((await png(content, { padding: 20 })).bytes)).toEqual({ width: 140, height: 90 })
    const whole = '<body style="margin:0"><div style="width:100%;height:50px;background:red"></div></body>'
    expect(pngSize((await png(whole, { padding: 20, width: 500 })).bytes)).toEqual({ width: 540, height: 90 })
  })

  it('keeps a transparent background', async () => {
    const [clear, white] = [await png('<p>x</p>', { background: 'transparent' }), await png('<p>x</p>')]
    expect([clear.bytes[25], white.bytes[25]]).toEqual([6, 2]) // the colour types RGBA and RGB
  })

  it('loads relative addresses from the base folder', async () => {
    const { bytes, remarks } = await png('<img src="sensor.png">', { baseFolder: 'turn_1/files', padding: 0 })
    expect([pngSize(bytes), remarks]).toEqual([{ width: 200, height: 200 }, []])
  })

  it('of the report has the same bytes again', async () => {
    const [first, second] = [
      await render({ kind: 'png', format: 'markdown', content: reportMarkdown }),
      await render({ kind: 'png', format: 'markdown', content: reportMarkdown }),
    ]
    expect(pngSize(first.bytes).height).toBeGreaterThan(3_000)
    expect(first.remarks).toEqual([])
    expect(Buffer.from(second.bytes).equals(first.bytes)).toBe(true)
  })

  it('that is too large is refused with its size', async () => {
    const huge = png('<div style="width:20000px;height:20000px;background:red"></div>')
    await expect(huge).rejects.toMatchObject({ details: { reason: 'too_large' }, message: expect.stringContaining('20064 × 20064 pixels') })
  })
})

it.skipIf(!hasBrowser)('a diagram in a Word document is a picture, and one with an error stays text', async () => {
  const picturesIn = async (content: string) => {
    const { bytes } = await render({ kind: 'docx', format: 'markdown', content, sources: [] })
    return (readZip(bytes) ?? []).filter(({ name }) => /^word\/media\/\w/.test(name)).length
  }
  expect(await picturesIn('```mermaid\nflowchart LR\n  A --> B\n```\n')).toBe(1)
  expect(await picturesIn('```mermaid\nflowchart LR\n  A[ -->\n```\n')).toBe(0)
})
