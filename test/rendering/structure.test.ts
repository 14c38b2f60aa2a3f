import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDocumentRenderer } from '../../src/adapters/documents/renderer.ts'
import type { DocumentKind } from '../../src/ports/documents.ts'
import { hasBrowser, pngSize, poppler, renderWith } from './render.ts'
import { reportMarkdown, reportTitle } from './sample-report.ts'

/* One report in four forms. Another program opens each of them, and its structure is compared with a stored text: not the bytes, which
   depend on the browser and the fonts of the machine. */

const renderer = createDocumentRenderer()
const offline = createDocumentRenderer({ browser: false }) // diagrams stay text on every machine
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'daybook-structure-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await Promise.all([renderer.close(), offline.close()])
})

const report = (kind: DocumentKind) => ({ kind, format: 'markdown', content: reportMarkdown, title: reportTitle }) as const
const golden = (kind: DocumentKind) => `./report.${kind}.txt`

/** The files of an archive, as `unzip` reads them. It also compares the checksums. */
async function unzip(kind: 'docx' | 'pptx') {
  const file = join(folder, `report.${kind}`)
  writeFileSync(file, (await renderWith(offline)(report(kind))).bytes)
  execFileSync('unzip', ['-tq', file])
  const names = execFileSync('unzip', ['-Z1', file], { encoding: 'utf8' }).trim().split('\n')
  const text = (name: string) => execFileSync('unzip', ['-p', file, name.replace('[', '\\[')], { encoding: 'utf8', maxBuffer: 50_000_000 })
  for (const name of names.filter((each) => /\.(?:xml|rels)$/.test(each))) expect(openTags(text(name)), name).toEqual([])
  return { names, text }
}

/** The elements of an XML text that are not closed, or closed in another order. Empty for well-formed XML. */
function openTags(xml: string): readonly string[] {
  const open: string[] = []
  for (const [, slash, name = '', end] of xml.matchAll(/<(\/?)([A-Za-z][\w:.-]*)(?:\s[^<>]*?)?(\/?)>/g)) {
    if (slash === '/') {
      if (open.at(-1) === name) open.pop()
      else return [`</${name}>`, ...open]
    } else if (end !== '/') open.push(name)
  }
  return open
}

const wordsOf = (xml: string) =>
  xml
    .replace(/<w:footnoteReference[^>]*>/g, '^')
    .replace(/<[^>]*>/g, '')
    .replaceAll('&amp;', '&')
    .trim()

const count = (text: string, part: string) => text.split(part).length - 1

describe('the structure of the report', () => {
  it('as a Word document', async () => {
    const { names, text } = await unzip('docx')
    const body = text('word/document.xml').replace(/<w:tbl>[\s\S]*?<\/w:tbl>/g, (table) => {
      const rows = [...table.matchAll(/<w:tr[ >][\s\S]*?<\/w:tr>/g)].map(([row]) => count(row, '<w:tc>'))
      return `<w:p>table with ${rows.length} rows of ${[...new Set(rows)].join(' or ')} cells</w:p>`
    })
    const lines = [...body.matchAll(/<w:p>([\s\S]*?)<\/w:p>/g)].map(([, inner = '']) => {
      const style = /<w:pStyle w:val="(\w+)"/.exec(inner)?.[1] ?? 'Normal'
      const parts = [style, ...(inner.includes('<w:bidi/>') ? ['right to left'] : [])]
      const drawing = inner.includes('drawingml/2006/chart"') ? 'chart' : inner.includes('drawingml/2006/picture"') ? 'picture' : ''
      return `${parts.join(', ')}: ${drawing || wordsOf(inner)}`.trim()
    })
    const files = names.filter((name) => /^word\/(?:charts|media)\/\w/.test(name)).length
    const structure = [...lines, `footnotes: ${count(text('word/footnotes.xml'), '<w:footnoteRef')}`, `charts and pictures: ${files}`]
    await expect(`${structure.join('\n')}\n`).toMatchFileSnapshot(golden('docx'))
  })

  it('as a presentation', async () => {
    const { names, text } = await unzip('pptx')
    const slides = names.filter((name) => /^ppt\/slides\/slide\d+\.xml$/.test(name)).length
    const structure = Array.from({ length: slides }, (_, index) => {
      const xml = text(`ppt/slides/slide${index + 1}.xml`)
      const shapes = [`${count(xml, '<a:tbl>')} tables`, `${count(xml, '<c:chart ')} charts`, `${count(xml, '<p:pic>')} pictures`]
      const lines = [...xml.matchAll(/<a:p>[\s\S]*?<\/a:p>/g)].map(([paragraph]) => wordsOf(paragraph)).filter((line) => line !== '')
      return [`slide ${index + 1}: ${shapes.join(', ')}`, ...lines.map((line) => `  ${line}`)].join('\n')
    })
    await expect(`${structure.join('\n')}\n`).toMatchFileSnapshot(golden('pptx'))
  })

  it.skipIf(!hasBrowser)('as a PDF', async () => {
    const { bytes } = await renderWith(renderer)(report('pdf'))
    const lines = poppler('pdfinfo', bytes, '-struct-text').split('\n')
    const structure: string[] = []
    let [heading, cells] = [false, 0]
    for (const line of lines) {
      const [, indent = '', name = ''] = /^( +)([A-Z]\w*)/.exec(line) ?? []
      if (name === 'TD' || name === 'TH') cells++
      if (indent.length === 2) {
        if (cells > 0) structure.push(`  ${cells} cells`)
        cells = 0
        structure.push(name)
        heading = /^H\d$/.test(name)
      } else if (heading && /^ +"[^"]/.test(line)) structure.push(`  ${line.trim()}`)
    }
    const pages = /Pages: +(\d+)/.exec(poppler('pdfinfo', bytes))?.[1]
    const images = poppler('pdfimages', bytes, '-list').trim().split('\n').length - 2
    await expect(`${structure.join('\n')}\npages: ${pages}\nimages: ${images}\n`).toMatchFileSnapshot(golden('pdf'))
    for (let page = 1; page <= Number(pages); page++) expect(darkShare(bytes, page)).toBeGreaterThan(0.002) // no page is blank
  })

  it.skipIf(!hasBrowser)('as an image', async () => {
    const { bytes } = await renderWith(renderer)(report('png'))
    const { width, height } = pngSize(bytes)
    const chunks = chunksOf(bytes)
    const pixels = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)))
    expect(pixels.length).toBe((width * 3 + 1) * height)
    expect(chunks.at(-1)?.type).toBe('IEND')
    const tall = Math.round(height / width)
    await expect(`width: ${width}\nabout ${tall} times as tall\n`).toMatchFileSnapshot(golden('png'))
  })
})

/** The share of pixels of a page that are not white, as `pdftoppm` draws it. */
function darkShare(bytes: Uint8Array, page: number): number {
  const file = join(folder, 'page.pdf')
  writeFileSync(file, bytes)
  const image = execFileSync('pdftoppm', ['-r', '30', '-gray', '-f', `${page}`, '-l', `${page}`, file], { maxBuffer: 50_000_000 })
  const pixels = image.subarray(image.indexOf('255\n') + 4)
  return pixels.filter((value) => value < 200).length / pixels.length
}

function chunksOf(bytes: Uint8Array): readonly { readonly type: string; readonly data: Uint8Array }[] {
  const buffer = Buffer.from(bytes)
  const chunks = []
  for (let at = 8; at + 12 <= buffer.length; ) {
    const length = buffer.readUInt32BE(at)
    chunks.push({ type: buffer.toString('latin1', at + 4, at + 8), data: buffer.subarray(at + 8, at + 8 + length) })
    at += 12 + length
  }
  return chunks
}
