import { parseDocument, Tokenizer } from 'htmlparser2'
import { readPage } from '../src/adapters/documents/page/read-page.ts'
import { median, report, timed } from './measure.ts'

/** A page of about one megabyte: a menu, and an article with paragraphs, links, lists, tables and programs. */
function page(): string {
  const paragraph = (n: number) =>
    `<p class="x">Paragraph ${n} with <a href="/l${n}">a link, number ${n}</a>, some <b>bold</b> words, and &amp; entities. ${'More words follow here, again and again. '.repeat(4)}</p>`
  const extras = (n: number) =>
    `<h2>Section ${n}</h2><ul><li>one</li><li>two<ol><li>inner</li></ol></li></ul><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><pre><code>let x = 1\n  y()\n</code></pre>`
  const menu = Array.from({ length: 2_500 }, (_, n) => `<li><a href="/n${n}">entry ${n}</a></li>`).join('')
  const article = Array.from({ length: 3_000 }, (_, n) => paragraph(n) + (n % 10 === 0 ? extras(n) : '')).join('\n')
  return `<!doctype html><html><head><title>T</title></head><body><nav><ul>${menu}</ul></nav><article><h1>T</h1>${article}</article></body></html>`
}

export async function bench(): Promise<void> {
  const html = page()
  const bytes = Buffer.from(html)
  const [parsing, reading]: [number[], number[]] = [[], []]
  for (let run = 0; run < 20; run++) {
    parsing.push(await timed(() => parseDocument(html)))
    reading.push(await timed(() => readPage(bytes, 'https://a.example/x', undefined, Tokenizer)))
  }
  const size = (html.length / 1e6).toFixed(1)
  report(`the text of a page of ${size} MB`, median(reading) / median(parsing), 3, `parsing it alone (${median(parsing).toFixed(0)} ms)`)
}
