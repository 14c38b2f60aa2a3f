// Renders the Markdown of answers as DOM elements. Text is never parsed as HTML.

// The lengths are limited, and labels and addresses hold no brackets. Without these limits some answers would make the expression slow.
const inline =
  /(\*\*(.{1,2000}?)\*\*|\*([^*\s][^*]{0,2000})\*|`([^`]{1,4000})`|\[([^\][]{0,500})\]\((https?:\/\/[^\s)[]{1,2000})(?: "[^"]{0,500}")?\))/g
const deepestQuote = 12

export function markdown(text, depth = 0) {
  const blocks = []
  const lines = text.split('\n').reverse() // reversed, because `pop` is fast and `shift` is slow
  while (lines.length > 0) blocks.push(...takeBlock(lines, depth))
  return blocks
}

function takeBlock(lines, depth) {
  const line = lines.at(-1)
  if (line.trim() === '') {
    lines.pop()
    return []
  }
  const fence = /^(```+|~~~+)/.exec(line)
  if (fence) return [code(lines, fence[1])]
  const heading = /^(#{1,6})\s+(.*)$/.exec(line)
  if (heading) {
    lines.pop()
    return [element(`h${Math.min(5, heading[1].length + 2)}`, words(heading[2]))]
  }
  if (/^\s*>/.test(line) && depth < deepestQuote) {
    const quoted = takeWhile(lines, /^\s*>/, (each) => each.replace(/^\s*> ?/, ''))
    return [element('blockquote', markdown(quoted.join('\n'), depth + 1))]
  }
  if (/^\s*[-*+]\s/.test(line)) return [list('ul', lines, /^\s*[-*+]\s+/)]
  if (/^\s*\d+[.)]\s/.test(line)) return [list('ol', lines, /^\s*\d+[.)]\s+/)]
  if (line.includes('|') && isRule(lines.at(-2) ?? '')) return [table(lines)]
  const paragraph = takeWhile(lines, /^(?!\s*$|```|~~~|#{1,6}\s|\s*>)/, (each) => each)
  return [element('p', words(paragraph.length > 0 ? paragraph.join('\n') : lines.pop()))]
}

/** Whether a line is the one below the header of a table, such as `|---|---|`. */
const isRule = (line) => /^[\s:|-]+$/.test(line) && line.includes('|') && line.includes('-')

function takeWhile(lines, shape, change) {
  const taken = []
  while (lines.length > 0 && shape.test(lines.at(-1))) taken.push(change(lines.pop()))
  return taken
}

function code(lines, fence) {
  lines.pop()
  const held = []
  while (lines.length > 0 && !lines.at(-1).startsWith(fence)) held.push(lines.pop())
  lines.pop()
  return element('pre', [held.join('\n')])
}

function table(lines) {
  const cells = (line) =>
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => cell.trim())
  const head = cells(lines.pop())
  lines.pop()
  const rows = takeWhile(lines, /\|/, cells)
  const row = (tag) => (values) =>
    element(
      'tr',
      values.map((value) => element(tag, words(value))),
    )
  return element('table', [element('thead', [row('th')(head)]), element('tbody', rows.map(row('td')))])
}

function list(tag, lines, mark) {
  const items = takeWhile(lines, mark, (each) => each.replace(mark, ''))
  return element(
    tag,
    items.map((item) => element('li', words(item))),
  )
}

function words(text) {
  const found = []
  let at = 0
  for (const match of text.matchAll(inline)) {
    found.push(text.slice(at, match.index))
    const [whole, , strong, emphasis, literal, label, url] = match
    if (strong !== undefined) found.push(element('strong', words(strong)))
    else if (emphasis !== undefined) found.push(element('em', [emphasis]))
    else if (literal !== undefined) found.push(element('code', [literal]))
    else found.push(Object.assign(element('a', [label || url]), { href: url, rel: 'noreferrer', target: '_blank' }))
    at = match.index + whole.length
  }
  return [...found, text.slice(at)].filter((part) => part !== '')
}

/** Creates an element. The children are appended one by one, because a call can not have an unlimited number of arguments. */
function element(tag, children) {
  const made = document.createElement(tag)
  for (const child of children) made.append(child)
  return made
}
