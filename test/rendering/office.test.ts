import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDocumentRenderer } from '../../src/adapters/documents/renderer.ts'
import type { ContentFormat, DocumentKind } from '../../src/ports/documents.ts'
import { readSmallEntry, readZip } from '../../src/tools/zip.ts'
import { reportFiles, reportMarkdown, reportSources, reportTitle, slidesHtml } from './sample-report.ts'

const renderer = createDocumentRenderer({ browser: false }) // so that diagrams stay text on every machine
afterAll(() => renderer.close())

const render = (
  kind: DocumentKind,
  format: ContentFormat,
  content: string,
  more: { now?: string; title?: string; listSources?: boolean } = {},
) =>
  renderer.render({
    kind,
    format,
    content,
    sources: reportSources,
    listSources: true,
    now: '2026-01-31T12:00:00.000Z',
    readAsset: async (path) => reportFiles.get(path),
    ...more,
  })

/** The texts of the files in an office document, by name. */
function openArchive(bytes: Uint8Array) {
  const entries = readZip(bytes) ?? []
  const text = (name: string) => {
    const entry = entries.find((each) => each.name === name)
    return entry ? (readSmallEntry(bytes, entry, 10_000_000)?.toString('utf8') ?? '') : ''
  }
  return { names: entries.map(({ name }) => name), text }
}

const count = (text: string, part: string) => text.split(part).length - 1
const wordsOf = (xml: string) =>
  xml
    .replace(/^<\?xml[^>]*>\s*/, '')
    .replace(/<\/(?:w|a):p>/g, '\n')
    .replace(/<[^>]*>/g, '')
    .replaceAll('&amp;', '&')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")

describe('a report as a Word document', async () => {
  const { bytes, remarks } = await render('docx', 'markdown', reportMarkdown)
  const { names, text } = openArchive(bytes)
  const document = text('word/document.xml')

  it('has its headings, lists, tables, code, images and charts', () => {
    expect(remarks).toEqual([])
    expect([1, 2, 3].map((level) => count(document, `w:val="Heading${level}"`))).toEqual([1, 5, 1])
    expect(count(document, '<w:tbl>')).toBe(3)
    expect(count(document, '<w:tblHeader')).toBe(3)
    expect(count(document, '<w:numPr>')).toBe(5 + 12)
    expect(count(document, 'uri="http://schemas.openxmlformats.org/drawingml/2006/chart"')).toBe(2)
    expect(count(document, 'uri="http://schemas.openxmlformats.org/drawingml/2006/picture"')).toBe(2)
    expect(names.filter((name) => /^word\/(?:charts|media)\/\w/.test(name))).toHaveLength(4)
    expect(text('word/charts/chart1.xml')).toContain('<c:v>610</c:v>')
    expect(count(document, '\ue0c1')).toBe(0)
    expect(wordsOf(document)).toContain('def output(inflow: list[float], head: float')
    expect(document).toContain('w:strike')
  })

  it('has each citation as a footnote, and a list of sources', () => {
    expect(count(document, '<w:footnoteReference ')).toBe(12)
    const footnotes = wordsOf(text('word/footnotes.xml'))
    for (const { title, url } of reportSources) {
      expect(footnotes).toContain(title)
      if (url !== undefined) expect(footnotes).toContain(url)
    }
    expect(wordsOf(document)).toMatch(/Sources\nSource A: grid statistics of 2012https:\/\/data\.example\/reports\/2012\?part=0&lang=en\n/)
  })

  it('marks Arabic and Hebrew as right to left, and keeps Chinese', () => {
    expect(count(document, '<w:bidi/>')).toBe(2)
    expect(document).toContain('中文摘要')
  })

  it('links to the web and to its own headings', () => {
    const targets = text('word/_rels/document.xml.rels')
    expect(targets).toContain('Target="https://agency.example/"')
    expect(document).toContain('<w:hyperlink w:history="1" w:anchor="a_plants"')
    expect(document).toContain('w:name="a_plants"')
  })
})

describe('slides', async () => {
  const { bytes, pages } = await render('pptx', 'html', slidesHtml, { title: reportTitle })
  const { names, text } = openArchive(bytes)
  const slide = (number: number) => text(`ppt/slides/slide${number}.xml`)

  it('are one per section, with tables, charts, images, code and columns', () => {
    expect(pages).toBe(9)
    expect(names.filter((name) => /^ppt\/slides\/slide\d+\.xml$/.test(name))).toHaveLength(9)
    expect(wordsOf(slide(1))).toMatch(/^River Energy Report 2026\nFindings for the board\n$/)
    expect(slide(2)).toContain('<c:chart ')
    expect(count(slide(3), '<a:tbl>')).toBe(2)
    expect(slide(4)).toContain('<a:srgbClr val="14395F"/>')
    expect(slide(4)).toContain('<a:srgbClr val="FFA500"')
    expect(slide(6)).toContain('typeface="Consolas"')
    expect(slide(7)).toContain('<p:pic>')
    for (let number = 1; number <= 9; number++) {
      for (const [paragraph] of slide(number).matchAll(/<a:p>[\s\S]*?<\/a:p>/g))
        expect(paragraph.lastIndexOf('<a:pPr')).toBeLessThanOrEqual(5)
    }
    expect(names.filter((name) => /^ppt\/charts\/chart\d+\.xml$/.test(name)).sort()).toEqual([
      'ppt/charts/chart1.xml',
      'ppt/charts/chart2.xml',
    ])
  })

  it('have the notes of the speaker', () => {
    expect(text('ppt/notesSlides/notesSlide1.xml')).toContain('Welcome everyone.')
    expect(text('ppt/notesSlides/notesSlide2.xml')).toContain('Point at the second quarter.')
    expect(names.map((name) => text(name)).join('')).not.toContain('class=')
  })

  it('name the sources that they cite, and no file of the conversation', () => {
    expect(wordsOf(slide(3))).toContain('[1] Source A: grid statistics of 2012')
    expect(wordsOf(slide(9))).toContain('Source L: field survey of 2023')
    expect(names.map((name) => text(name)).join('')).not.toContain('turn_1/files/sensor.png')
  })

  it('of Markdown begin at headings, and go on when one is full', async () => {
    const rows = Array.from({ length: 40 }, (_, index) => `| row ${index} | ${index} |`).join('\n')
    const markdown = `# Opening\n\n## Rows\n\n| a | b |\n|---|---|\n${rows}\n\n---\n\nlast\n\n<!-- notes: the end -->`
    const { bytes, pages } = await render('pptx', 'markdown', markdown, { listSources: false })
    const archive = openArchive(bytes)
    const words = Array.from({ length: pages ?? 0 }, (_, index) => wordsOf(archive.text(`ppt/slides/slide${index + 1}.xml`)))
    expect(words[0]).toBe('Opening\n')
    expect(words[2]).toMatch(/^Rows \(continued\)\n\s*a\n\s*b\n/)
    expect(words.at(-1)).toBe('last\n')
    expect(words.join('').match(/row \d+/g)).toHaveLength(40)
    expect(archive.text(`ppt/notesSlides/notesSlide${pages}.xml`)).toContain('the end')
  })
})

describe('the same content', () => {
  it.each([
    ['docx', 'markdown', reportMarkdown],
    ['pptx', 'html', slidesHtml],
    ['pptx', 'markdown', reportMarkdown],
  ] as const)('gives the same bytes again: %s of %s', async (kind, format, content) => {
    const first = await render(kind, format, content)
    const [second, third] = await Promise.all([render(kind, format, content), render(kind, format, content)])
    expect(Buffer.from(second.bytes).equals(first.bytes)).toBe(true)
    expect(Buffer.from(third.bytes).equals(first.bytes)).toBe(true)
    const later = await render(kind, format, content, { now: '2027-01-31T12:00:00.000Z' })
    expect(Buffer.from(later.bytes).equals(first.bytes)).toBe(false)
  })
})

describe('hostile content', () => {
  it('nested thousands of times, with broken tags and entities, still gives a document', async () => {
    const content = `${'<div><ul><li>'.repeat(5_000)}deep &lt;b&gt; &#x0; &nope; <b <i </p></table>\u0000\u000b${'> '.repeat(2_000)}`
    for (const format of ['html', 'markdown'] as const) {
      for (const kind of ['docx', 'pptx'] as const) {
        const { bytes } = await render(kind, format, content)
        const xml = openArchive(bytes).text(kind === 'docx' ? 'word/document.xml' : 'ppt/slides/slide1.xml')
        expect(xml).toContain('deep')
        // biome-ignore lint/suspicious/noControlCharactersInRegex: XML must not contain them
        expect(xml).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/)
      }
    }
  })

  it('makes no links that run scripts or open files', async () => {
    const content =
      '<p><a href="javascript:alert(1)">a</a> <a href="file:///etc/passwd">b</a> <a href="turn_1/files/x.html">c</a><img src="https://x.example/a.png" alt="pic"></p>'
    for (const kind of ['docx', 'pptx'] as const) {
      const { bytes, remarks } = await render(kind, 'html', content)
      const { names, text } = openArchive(bytes)
      const relations = names
        .filter((name) => name.endsWith('.rels'))
        .map(text)
        .join('')
      expect(relations).not.toMatch(/javascript:|file:|turn_1|x\.example/)
      expect(remarks.join()).toContain('https://x.example/a.png')
    }
  })
})

const office = ['/usr/bin/soffice', '/usr/bin/libreoffice'].find((path) => existsSync(path))

describe.skipIf(office === undefined)('LibreOffice', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'daybook-office-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  it('opens both documents and shows their text', { timeout: 120_000 }, async () => {
    const run = promisify(execFile)
    await writeFile(join(folder, 'a.docx'), (await render('docx', 'markdown', reportMarkdown)).bytes)
    await writeFile(join(folder, 'b.pptx'), (await render('pptx', 'html', slidesHtml)).bytes)
    await run(
      office as string,
      ['--headless', `-env:UserInstallation=file://${folder}/profile`, '--convert-to', 'pdf', '--outdir', folder, 'a.docx', 'b.pptx'],
      { cwd: folder },
    )
    for (const name of ['a', 'b']) {
      await run('pdftotext', [join(folder, `${name}.pdf`), join(folder, `${name}.txt`)])
      const text = await readFile(join(folder, `${name}.txt`), 'utf8')
      for (const part of ['River Energy Report 2026', 'Upper Lock', '中文摘要', 'Source L']) expect(text).toContain(part)
    }
  })
})
