import type { DocumentImage, Inline, TextStyle } from './document.ts'
import { classesOf, type HtmlElement, type HtmlNode, isElement, isSilent } from './html.ts'
import { parseColour, parseLength, stylesOf } from './styles.ts'

/** Reads the parts of a line. White space is collapsed as in HTML, and removed at both ends. */
export function readInlines(nodes: readonly HtmlNode[]): readonly Inline[] {
  const parts = nodes.flatMap((node) => partsOf(node, {}))
  const collapsed: Inline[] = []
  let atSpace = true
  for (const part of parts) {
    if (part.kind !== 'text') {
      if (part.kind === 'break') trimEnd(collapsed)
      collapsed.push(part)
      atSpace = part.kind === 'break'
      continue
    }
    const text = part.text.replace(/[ \t\r\n\f]+/g, ' ')
    const trimmed = atSpace && text.startsWith(' ') ? text.slice(1) : text
    if (trimmed === '') continue
    collapsed.push({ ...part, text: trimmed })
    atSpace = trimmed.endsWith(' ')
  }
  trimEnd(collapsed)
  return collapsed
}

function trimEnd(parts: Inline[]): void {
  const last = parts.at(-1)
  if (last?.kind !== 'text' || !last.text.endsWith(' ')) return
  parts.pop()
  if (last.text !== ' ') parts.push({ ...last, text: last.text.slice(0, -1) })
}

function partsOf(node: HtmlNode, style: TextStyle): readonly Inline[] {
  if (typeof node === 'string') return [{ kind: 'text', text: node, ...style }]
  if (isSilent(node)) return []
  if (node.name === 'br') return [{ kind: 'break' }]
  if (node.name === 'img') return [{ kind: 'image', image: readImage(node) }]
  const sids = citedSids(node)
  if (sids) return [{ kind: 'citation', sids }]
  if (node.name === 'input') return node.attributes.type === 'checkbox' ? [checkbox('checked' in node.attributes, style)] : []
  const inner = { ...style, ...tagStyles[node.name], ...linkStyle(node), ...attributeStyle(node) }
  return node.children.flatMap((child) => partsOf(child, inner))
}

const checkbox = (checked: boolean, style: TextStyle): Inline => ({ kind: 'text', text: checked ? '☑ ' : '☐ ', ...style })

/** The SIDs of an element that cites sources. Undefined for other elements. */
export function citedSids(element: HtmlElement): readonly number[] | undefined {
  if (element.name !== 'sup' || !classesOf(element).includes('cite')) return undefined
  return (element.attributes['data-sids'] ?? '')
    .split(',')
    .map(Number)
    .filter((sid) => Number.isSafeInteger(sid) && sid > 0)
}

const tagStyles: Readonly<Record<string, TextStyle>> = {
  ...{ b: { bold: true }, strong: { bold: true }, th: { bold: true }, dt: { bold: true } },
  ...{ i: { italic: true }, em: { italic: true }, cite: { italic: true }, var: { italic: true } },
  ...{ code: { code: true }, kbd: { code: true }, samp: { code: true }, tt: { code: true } },
  ...{ s: { strike: true }, del: { strike: true }, strike: { strike: true }, u: { underline: true }, ins: { underline: true } },
  ...{ sup: { position: 'super' }, sub: { position: 'sub' } },
}

const linkStyle = ({ name, attributes }: HtmlElement): TextStyle =>
  name === 'a' && attributes.href !== undefined ? { link: attributes.href.trim() } : {}

function attributeStyle(element: HtmlElement): TextStyle {
  if (element.attributes.style === undefined) return {}
  const styles = stylesOf(element)
  const colour = parseColour(styles.get('color'))
  const size = parseLength(styles.get('font-size'))
  const weight = styles.get('font-weight') ?? ''
  return {
    ...(colour !== undefined && { colour }),
    ...(size !== undefined && { size }),
    ...((weight === 'bold' || Number(weight) >= 600) && { bold: true as const }),
    ...(styles.get('font-style') === 'italic' && { italic: true as const }),
  }
}

/** Reads an `img`. Its size may be given by attributes or by `style`. */
export function readImage(element: HtmlElement): DocumentImage {
  const { attributes } = element
  const styles = stylesOf(element)
  const pixels = (name: 'width' | 'height') => {
    const points = parseLength(styles.get(name) ?? attributes[name])
    return points === undefined || points === 0 ? {} : { [name]: points / 0.75 }
  }
  return { address: attributes.src?.trim() ?? '', alt: attributes.alt ?? '', ...pixels('width'), ...pixels('height') }
}

/** Whether nodes have nothing that a reader sees. */
export const isBlank = (nodes: readonly HtmlNode[]): boolean =>
  nodes.every((node) => (typeof node === 'string' ? node.trim() === '' : !isElement(node)))
