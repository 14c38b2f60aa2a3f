/** The markdown that answers are written in, as elements. Text stays text: nothing in it becomes markup that it does not spell out here. */

const inline = /(\*\*(.+?)\*\*|\*([^*\s][^*]*)\*|`([^`]+)`|\[([^\]]*)\]\((https?:\/\/[^\s)]+)(?: "[^"]*")?\))/g

export function markdown(text) {
  const blocks = []
  const lines = text.split('\n')
  while (lines.length > 0) blocks.push(...takeBlock(lines))
  return blocks
}

function takeBlock(lines) {
  const line = lines[0]
  if (line.trim() === '') {
    lines.shift()
    return []
  }
  const fence = /^(```+|~~~+)/.exec(line)
  if (fence) return [code(lines, fence[1])]
  const heading = /^(#{1,6})\s+(.*)$/.exec(line)
  if (heading) {
    lines.shift()
    return [element(`h${Math.min(5, heading[1].length + 2)}`, ...words(heading[2]))]
  }
  if (/^\s*>/.test(line))
    return [element('blockquote', ...markdown(takeWhile(lines, /^\s*>/, (each) => each.replace(/^\s*> ?/, '')).join('\n')))]
  if (/^\s*[-*+]\s/.test(line))
    return [
      list(
        'ul',
        takeWhile(lines, /^\s*[-*+]\s/, (each) => each.replace(/^\s*[-*+]\s+/, '')),
      ),
    ]
  if (/^\s*\d+[.)]\s/.test(line))
    return [
      list(
        'ol',
        takeWhile(lines, /^\s*\d+[.)]\s/, (each) => each.replace(/^\s*\d+[.)]\s+/, '')),
      ),
    ]
  if (line.includes('|') && /^\s*\|?[\s:|-]+\|[\s:|-]*$/.test(lines[1] ?? '')) return [table(lines)]
  const paragraph = takeWhile(lines, /^(?!\s*$|```|~~~|#{1,6}\s|\s*>)/, (each) => each)
  return [element('p', ...words(paragraph.length > 0 ? paragraph.join('\n') : lines.shift()))]
}

function takeWhile(lines, shape, change) {
  const taken = []
  while (lines.length > 0 && shape.test(lines[0])) taken.push(change(lines.shift()))
  return taken
}

function code(lines, fence) {
  lines.shift()
  const held = []
  while (lines.length > 0 && !lines[0].startsWith(fence)) held.push(lines.shift())
  lines.shift()
  return element('pre', held.join('\n'))
}

function table(lines) {
  const cells = (line) =>
    line
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => cell.trim())
  const head = cells(lines.shift())
  lines.shift()
  const rows = takeWhile(lines, /\|/, cells)
  const row = (tag) => (values) => element('tr', ...values.map((value) => element(tag, ...words(value))))
  return element('table', element('thead', row('th')(head)), element('tbody', ...rows.map(row('td'))))
}

const list = (tag, items) => element(tag, ...items.map((item) => element('li', ...words(item))))

function words(text) {
  const found = []
  let at = 0
  for (const match of text.matchAll(inline)) {
    found.push(text.slice(at, match.index))
    const [whole, , strong, emphasis, literal, label, url] = match
    if (strong !== undefined) found.push(element('strong', ...words(strong)))
    else if (emphasis !== undefined) found.push(element('em', emphasis))
    else if (literal !== undefined) found.push(element('code', literal))
    else found.push(Object.assign(element('a', label || url), { href: url, rel: 'noreferrer', target: '_blank' }))
    at = match.index + whole.length
  }
  return [...found, text.slice(at)].filter((part) => part !== '')
}

function element(tag, ...children) {
  const made = document.createElement(tag)
  made.append(...children)
  return made
}
