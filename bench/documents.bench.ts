import { readdir, readFile } from 'node:fs/promises'
import { findBundled } from '../src/adapters/documents/browser/bundled-files.ts'
import { findBrowser } from '../src/adapters/documents/browser/find-browser.ts'
import { privateBytes } from '../src/adapters/documents/browser/memory-limit.ts'
import { documentPage } from '../src/adapters/documents/browser/page-html.ts'
import { printOptions } from '../src/adapters/documents/browser/pdf.ts'
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

/** Measures how long it takes to make Word documents, presentations and PDF files, and whether the memory stays the same. */
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
    const made = request('pdf', 'markdown', markdown(10))
    const ours = await times(6, made)
    report('a PDF of 10 pages in the warm browser', ours / (await ownPrintTime(browser, made)), 1.3, "the browser's own load and print")
  }
  for (const [what, kind] of [
    ['Word documents', 'docx'],
    ['presentations', 'pptx'],
    ...(browser === undefined ? [] : ([['PDF files', 'pdf']] as const)),
  ] as const)
    await reportMemory(what, () => renderer.render(request(kind, 'markdown', markdown(2))))
  await renderer.close()
}

/**
 * Makes 200 documents, and reports how much more memory this process and its browser need after the second hundred than after the first
 * hundred. The first hundred load code and fill caches.
 */
async function reportMemory(what: string, make: () => Promise<unknown>): Promise<void> {
  const sizes: number[] = []
  for (const _ of [1, 2]) {
    for (let round = 0; round < 100; round++) await make()
    globalThis.gc?.()
    sizes.push(await memoryOfProcesses(process.pid))
  }
  const [first = 0, second = 0] = sizes
  const grown = (second - first) / 1024 / 1024
  console.log(
    `memory of 100 more ${what} after the first 100`.padEnd(58),
    `${grown.toFixed(0)} MB more than ${(first / 1024 / 1024).toFixed(0)} MB  (budget 50)  ${grown <= 50 ? 'ok' : 'OVER'}`,
  )
}

/** The private memory of a process and of all processes that it started. */
async function memoryOfProcesses(root: number): Promise<number> {
  const parents = new Map<number, number>()
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') // the process has ended
    if (stat !== '') parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
  }
  const isBelow = (pid: number): boolean => pid === root || (parents.has(pid) && pid > 1 && isBelow(parents.get(pid) as number))
  let sum = 0
  for (const pid of parents.keys()) if (isBelow(pid)) sum += await privateBytes(pid)
  return sum
}

/**
 * How long Chromium alone takes to open a page, load the HTML of the document with its fonts, and print it with the same options. The
 * limits, checks and rewriting of Daybook are left out.
 */
async function ownPrintTime(executablePath: string, made: RenderRequest): Promise<number> {
  const { chromium } = await import('playwright-core')
  const { html } = await documentPage(made)
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
        await context.route('**/*', async (route) => {
          const font = findBundled(new URL(route.request().url()).pathname.slice(1))
          await route.fulfill(font ? { contentType: font.mime, path: font.file } : { contentType: 'text/html; charset=utf-8', body: html })
        })
        await tab.goto('https://document.invalid/', { waitUntil: 'load' })
        await tab.evaluate('document.fonts.ready.then(() => true)')
        await tab.pdf(printOptions(false))
        await context.close()
      }),
    )
  }
  await browser.close()
  return median(all.slice(1))
}
