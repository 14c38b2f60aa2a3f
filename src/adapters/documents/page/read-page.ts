import type { Tokenizer } from 'htmlparser2'
import { cutAt } from '../../../core/cut.ts'
import type { PageText } from '../../../ports/web.ts'
import { findArticle } from './article.ts'
import { datesOf, isPaywalled, titleOf } from './head.ts'
import { toMarkdown } from './markdown.ts'
import { parsePage } from './tree.ts'

/** The maximum number of characters that are kept of a page, unless the caller sets another maximum. */
export const maxPageText = 400_000

/** Reads the text and the facts of an HTML page. `HtmlTokenizer` is the tokenizer of the package htmlparser2. */
export function readPage(
  bytes: Uint8Array,
  url: string,
  charset: string | undefined,
  HtmlTokenizer: typeof Tokenizer,
  maxText: number = maxPageText,
): PageText {
  const html = decodeHtml(bytes, charset)
  const { body, head } = parsePage(html, url, HtmlTokenizer)
  // The limit is one character more than `maxText`. So a text that was cut can be distinguished from a text of exactly `maxText`
  // characters.
  const options = { base: head.base, maxLength: maxText + 1 } as const
  const article = toMarkdown(findArticle(body), { ...options, leaveOut: 'likely' })
  // If the article is very short, parts of the text were probably left out as junk. Then the whole page is written, and the longer text is
  // used.
  const markdown = article.length >= shortText ? article : longer(article, toMarkdown([body], { ...options, leaveOut: 'parts' }))
  return {
    title: titleOf(head),
    markdown: cutAt(markdown, maxText),
    ...(markdown.length > maxText && { isCut: true }),
    ...datesOf(head),
    ...(head.icon !== undefined && { favicon: head.icon }),
    paywalled: isPaywalled(head),
  }
}

const shortText = 250
const longer = (a: string, b: string) => (b.length > a.length ? b : a)

/** Decodes a page by its byte order mark, the HTTP header, its own `<meta charset>`, or as UTF-8. */
export function decodeHtml(bytes: Uint8Array, charset: string | undefined): string {
  const start = Buffer.from(bytes.subarray(0, 1_024)).toString('latin1')
  const named = byteOrderMark(bytes) ?? charset ?? /<meta[^>]{0,200}charset\s{0,3}=\s{0,3}["']?([\w-]{1,40})/i.exec(start)?.[1] ?? 'utf-8'
  return decoderFor(named).decode(bytes)
}

function byteOrderMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return first === 0xff && second === 0xfe ? 'utf-16le' : undefined
}

/** The decoder for the encoding that a page names. If this encoding does not exist, the page is decoded as UTF-8. */
function decoderFor(label: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(label)
  } catch (error) {
    if (error instanceof RangeError) return new TextDecoder()
    throw error
  }
}
