import type { ContentFormat } from '../../../ports/documents.ts'
import { elementsBelow, type HtmlElement, textOf } from './html.ts'
import { markdownToHtml } from './markdown.ts'
import { parseHtml } from './parse-html.ts'

/**
 * The addresses of files in a content, exactly as the author wrote them and each only once. They are the addresses of images, media,
 * objects, style sheets, links and `url()` in styles. Web addresses, anchors and embedded data are left out.
 */
export async function findMentions(content: string, format: ContentFormat): Promise<readonly string[]> {
  if (format === 'mermaid') return []
  const root = await parseHtml(format === 'markdown' ? await markdownToHtml(content) : content)
  const addresses = [...elementsBelow(root)].flatMap(addressesOf).map((address) => address.trim())
  return [...new Set(addresses.filter(isLocalAddress))]
}

const addressAttributes = ['src', 'href', 'poster', 'data', 'background', 'xlink:href'] as const

function addressesOf(element: HtmlElement): readonly string[] {
  const { name, attributes } = element
  const single = addressAttributes.flatMap((attribute) => attributes[attribute] ?? [])
  const sets = [attributes.srcset, attributes.imagesrcset].flatMap((set) => (set === undefined ? [] : srcsetAddresses(set)))
  const styles = [attributes.style ?? '', name === 'style' ? element.children.map((child) => rawText(child)).join('') : '']
  return [...single, ...sets, ...styles.flatMap(styleAddresses)]
}

const rawText = (node: HtmlElement['children'][number]) => (typeof node === 'string' ? node : textOf(node))

/** The addresses in a `srcset` such as `a.png 1x, b.png 2x`. */
const srcsetAddresses = (set: string): readonly string[] =>
  set
    .split(',')
    .map((candidate) => candidate.trim().split(/\s/, 1)[0] ?? '')
    .filter((address) => address !== '')

const maxAddress = 2_000

/** The addresses in `url(…)` and `@import '…'` of a style. */
function styleAddresses(css: string): readonly string[] {
  const urls = [...css.matchAll(/url\(\s{0,99}(?:"([^"\n]{0,2000})"|'([^'\n]{0,2000})'|([^"'()\s]{0,2000}))\s{0,99}\)/gi)]
  const imports = [...css.matchAll(/@import\s{1,99}(?:"([^"\n]{0,2000})"|'([^'\n]{0,2000})')/gi)]
  return [...urls, ...imports].map(([, double, single, bare]) => double ?? single ?? bare ?? '').filter((address) => address !== '')
}

/** Whether an address is the path of a file: a logical path such as `fi:…`, or an address without scheme and host that is not an anchor. */
const isLocalAddress = (address: string): boolean =>
  address !== '' &&
  address.length <= maxAddress &&
  !/^(?:#|\/|\\)/.test(address) &&
  (/^fi:/i.test(address) || !/^[a-z][a-z0-9+.-]*:/i.test(address))
