import { findBrowser } from '../src/adapters/documents/browser/find-browser.ts'
import { createDocumentRenderer } from '../src/adapters/documents/renderer.ts'
import type { RenderRequest } from '../src/ports/documents.ts'
import { median, report, timed } from './measure.ts'

const page = (number: number) =>
  `## Chapter ${number}\n\n${'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor. '.repeat(22)}\n\n| a | b | c |\n|---|---|---|\n${'| one | two | 3 |\n'.repeat(8)}\n\n- one\n- two\n`
const markdown = (pages: number) => `# Report\n\n${Array.from({ length: pages }, (_, index) => page(index + 1)).join('\n')}`
const slides = (count: number) =>
  Array.from(
    { length: count },
    (_, index) => `<section><h2>Slide ${index}</h2><ul>${'<li>A point to make</li>'.repeat(6)}</ul></section>`,
  ).join('')

const request = (kind: RenderRequest['kind'], format: RenderRequest['format'], content: string): RenderRequest => ({
  kind,
  format,
  content,
  sources: [],
  listSources: false,
  now: '2026-01-31T12:00:00.000Z',
  readAsset: async () => undefined,
})

const OFFICE_BUDGET_MS = 500

/** Word documents, presentations and PDF files: how long they take, and whether the memory stays the same. */
export async function bench(): Promise<void> {
  const renderer = createDocumentRenderer()
  const times = async (count: number, made: RenderRequest) => {
    const all: number[] = []
    for (let round = 0; round < count; round++) all.push(await timed(() => renderer.render(made)))
    return median(all.slice(1))
  }
  for (const [what, made] of [
    ['a Word document of 30 pages', request('docx', 'markdown', markdown(30))],
    ['a presentation of 30 slides', request('pptx', 'html', slides(30))],
  ] as const) {
    const took = await times(6, made)
    console.log(what.padEnd(58), `${took.toFixed(0)} ms  (budget ${OFFICE_BUDGET_MS})  ${took <= OFFICE_BUDGET_MS ? 'ok' : 'OVER'}`)
  }
  const browser = findBrowser()
  if (browser !== undefined) {
    await renderer.render(request('pdf', 'markdown', 'warm'))
    const ours = await times(6, request('pdf', 'markdown', markdown(10)))
    report('a PDF of 10 pages in the warm browser', ours / (await ownPrintTime(browser)), 1.3, "the browser's own load and print")
  }
  const before = process.memoryUsage().rss
  for (let round = 0; round < 200; round++) await renderer.render(request('docx', 'markdown', markdown(2)))
  const grown = (process.memoryUsage().rss - before) / 1024 / 1024
  console.log(
    'memory after 200 more Word documents'.padEnd(58),
    `${grown.toFixed(0)} MB more  (budget 100)  ${grown <= 100 ? 'ok' : 'OVER'}`,
  )
  await renderer.close()
}

/** How long Chromium itself takes to load and print the same text in a fresh context, without our page, checks and rewriting. */
async function ownPrintTime(executablePath: string): Promise<number> {
  const { chromium } = await import('playwright-core')
  const { markdownToHtml } = await import('../src/adapters/documents/structure/markdown.ts')
  const html = await markdownToHtml(markdown(10))
  const browser = await chromium.launch({
    executablePath,
    args: ['--disable-gpu', '--no-first-run'],
    chromiumSandbox: process.getuid?.() !== 0,
  })
  const all: number[] = []
  for (let round = 0; round < 6; round++) {
    all.push(
      await timed(async () => {
        const context = await browser.newContext()
        const tab = await context.newPage()
        await tab.setContent(html)
        await tab.pdf({ format: 'A4', tagged: true, outline: true })
        await context.close()
      }),
    )
  }
  await browser.close()
  return median(all.slice(1))
}
