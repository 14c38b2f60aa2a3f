import type { Tokenizer } from 'htmlparser2'
import { blockTags } from '../html-tags.ts'
import { type HeadFacts, readHeadTag, startHead } from './head.ts'
import { type Attributes, isVoid, readTokens } from './tokens.ts'

/** An element of a page, with only what is needed to find and write its text. */
export interface PageElement {
  readonly tag: string
  readonly parent: PageElement | undefined
  readonly children: (PageElement | string)[]
  /** The address of a link or of an image. */
  readonly href: string | undefined
  readonly alt: string | undefined
  /**
   * Whether the element is left out of the text. `part`: its tag or role says that it is not text of the page but, for example, a menu.
   * `likely`: its class or id suggests this, which may be wrong.
   */
  junk: 'no' | 'likely' | 'part'
  /** Whether class and id suggest that the text of the page is here (1), or is not here (-1). */
  readonly weight: -1 | 0 | 1
  /** Counts for the text below this element, without junk: the characters, the characters in links, and the commas. */
  textLength: number
  linkLength: number
  commas: number
  /** Whether the element is a block or contains one. A link around a heading is an inline element that contains a block. */
  hasBlock: boolean
}

export interface ParsedPage {
  readonly body: PageElement
  readonly head: HeadFacts
}

/** Elements whose content is never shown as text. */
const skippedTags: ReadonlySet<string> = new Set([
  ...['script', 'style', 'noscript', 'template', 'svg', 'math', 'iframe', 'object', 'embed', 'canvas', 'audio', 'video', 'map'],
  ...['input', 'select', 'button', 'textarea', 'datalist', 'dialog', 'meter', 'progress'],
])

const partTags: ReadonlySet<string> = new Set(['nav', 'aside', 'footer', 'menu'])
const partRoles: ReadonlySet<string> = new Set([
  ...['navigation', 'banner', 'complementary', 'contentinfo', 'search', 'dialog', 'alertdialog', 'menu', 'menubar', 'toolbar'],
])

const tableTags: ReadonlySet<string> = new Set(['tbody', 'td', 'tfoot', 'th', 'thead', 'tr'])
export const isBlockTag = (tag: string): boolean => blockTags.has(tag) || tableTags.has(tag)

/** Reads HTML into a tree. `HtmlTokenizer` is the tokenizer of the package htmlparser2, which is loaded on demand. */
export function parsePage(html: string, url: string, HtmlTokenizer: typeof Tokenizer): ParsedPage {
  const head = startHead(url)
  const body = element('body', undefined, {})
  let current = body
  let textLength = 0
  /** The open element whose content is not part of the text, if there is such an element. `inside` counts the open elements below it. */
  let skipped: { readonly tag: string; readonly keep: boolean; inside: number; readonly text: string[]; length: number } | undefined

  readTokens(
    html,
    {
      open(tag, attributes) {
        if (skipped) {
          if (!isVoid(tag)) skipped.inside++
        } else if (tag === 'meta' || tag === 'link' || tag === 'base') readHeadTag(head, tag, attributes)
        else if (isSkipped(tag, attributes)) {
          const keep = tag === 'title' || attributes.type === 'application/ld+json'
          if (!isVoid(tag)) skipped = { tag, keep, inside: 0, text: [], length: 0 }
        } else if (!pageTags.has(tag)) {
          if (tag === 'time') head.times.push(attributes.datetime ?? '')
          const child = element(tag, current, attributes)
          current.children.push(child)
          if (!isVoid(tag)) current = child
        }
      },
      text(text) {
        if (!skipped) {
          current.children.push(text)
          textLength += text.length
        } else if (skipped.keep && skipped.length < maxKeptText) {
          skipped.text.push(text)
          skipped.length += text.length
        }
      },
      close(tag) {
        if (skipped) {
          if (skipped.inside-- > 0) return
          if (tag === 'title') head.title ||= skipped.text.join('')
          else if (skipped.keep) head.jsonLd.push(skipped.text.join(''))
          skipped = undefined
        } else if (!pageTags.has(tag)) current = current.parent ?? body
      },
    },
    HtmlTokenizer,
  )
  measure(body, textLength)
  return { body, head }
}

/** These elements are in every page, and the tree has no element for them. */
const pageTags: ReadonlySet<string> = new Set(['html', 'head', 'body'])

const isSkipped = (tag: string, attributes: Attributes) => tag === 'title' || skippedTags.has(tag) || isHidden(attributes)

const maxKeptText = 200_000

function element(tag: string, parent: PageElement | undefined, attributes: Attributes): PageElement {
  const names = parent === undefined ? '' : `${attributes.class ?? ''} ${attributes.id ?? ''}`.slice(0, 300)
  return {
    tag,
    parent,
    children: [],
    href: attributes.href ?? attributes.src ?? attributes['data-src'],
    alt: attributes.alt,
    junk: junkOf(tag, parent, attributes, names),
    weight: names.length === 1 ? 0 : weightOf(names),
    textLength: 0,
    linkLength: 0,
    commas: 0,
    hasBlock: isBlockTag(tag),
  }
}

const junkNames =
  /-ad-|\bads?\b|advert|banner|breadcrumb|combx|comment|community|cookie|consent|disqus|footer|gdpr|legends|menu|modal|newsletter|outbrain|pager|pagination|popup|promo|related|remark|replies|rss|share|shoutbox|sidebar|skyscraper|social|sponsor|subscribe|supplemental|taboola|toolbar|yom-remote/i
const contentNames = /article|blog|body|content|entry|hentry|h-entry|main|page|post|story|text|column|shadow/i

function junkOf(tag: string, parent: PageElement | undefined, attributes: Attributes, names: string): PageElement['junk'] {
  if (partTags.has(tag) || partRoles.has(attributes.role ?? '')) return 'part'
  if (tag === 'header' && !isInside(parent, 'article') && !isInside(parent, 'main')) return 'likely'
  if (names.length === 1 || tag === 'a' || tag === 'p' || tag === 'article' || tag === 'main') return 'no'
  return junkNames.test(names) && !contentNames.test(names) ? 'likely' : 'no'
}

function weightOf(names: string): PageElement['weight'] {
  if (contentNames.test(names)) return 1
  return junkNames.test(names) ? -1 : 0
}

function isInside(parent: PageElement | undefined, tag: string): boolean {
  for (let each = parent; each; each = each.parent) if (each.tag === tag) return true
  return false
}

const hiddenStyle = /display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden/i
const isHidden = (attributes: Attributes) =>
  attributes.hidden !== undefined ||
  attributes['aria-hidden'] === 'true' ||
  (attributes.style !== undefined && hiddenStyle.test(attributes.style.slice(0, 500)))

/**
 * An element with more than this share of all text is not left out because of its class. It is a wrapper around the whole page, such as
 * `class="with-sidebar"`.
 */
const wrapperShare = 0.4

/**
 * Counts the characters of each element, children before their parents. The recursion is not deep, because `maxDepth` limits the levels of
 * the tree. `total` is the length of all text.
 */
function measure(parent: PageElement, total: number): void {
  for (const child of parent.children) {
    if (typeof child === 'string') {
      parent.textLength += child.length
      parent.commas += commasIn(child)
      continue
    }
    measure(child, total)
    if (child.hasBlock) parent.hasBlock = true
    if (child.junk === 'likely' && child.textLength - child.linkLength > total * wrapperShare) child.junk = 'no'
    if (child.junk !== 'no') continue
    parent.textLength += child.textLength
    parent.linkLength += child.tag === 'a' ? child.textLength : child.linkLength
    parent.commas += child.commas
  }
}

const commas = [',', '、', '，', '،'] // of Latin, Chinese, Japanese and Arabic text

function commasIn(text: string): number {
  let count = 0
  for (const comma of commas) for (let at = text.indexOf(comma); at >= 0; at = text.indexOf(comma, at + 1)) count++
  return count
}
