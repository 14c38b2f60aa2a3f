import { readFileSync } from 'node:fs'
import { codeBlock } from './markdown.ts'

interface CommentBlock {
  readonly kind: 'paragraph' | 'item' | 'drawing'
  readonly lines: string[]
}

/**
 * A doc comment as Markdown. Indented lines, such as the lines of a drawing, become a code block. Paragraphs and items are one line each.
 */
export function commentText(comment: string): string {
  let text = ''
  let last: CommentBlock['kind'] | undefined
  for (const { kind, lines } of commentBlocks(comment)) {
    if (last !== undefined) text += kind === 'item' && last === 'item' ? '\n' : '\n\n'
    text += kind === 'drawing' ? codeBlock(unindented(lines), 'text') : withoutTags(lines.join(' '))
    last = kind
  }
  return text
}

function commentBlocks(comment: string): readonly CommentBlock[] {
  const lines = comment
    .replace(/^\s*\/\*\*/, '')
    .replace(/\*\/\s*$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
  const blocks: CommentBlock[] = []
  let afterBlank = true
  for (const line of lines) {
    if (line === '') {
      afterBlank = true
      continue
    }
    const last = blocks.at(-1)
    const continuesItem = last?.kind === 'item' && !afterBlank
    const kind = /^\s*(?:- |\d+\. )/.test(line) ? 'item' : line.startsWith('  ') && !continuesItem ? 'drawing' : 'paragraph'
    if (kind === 'drawing' && last?.kind === 'drawing') last.lines.push(...(afterBlank ? ['', line] : [line]))
    else if (kind === 'paragraph' && last && last.kind !== 'drawing' && !afterBlank) last.lines.push(line.trim())
    else blocks.push({ kind, lines: [kind === 'drawing' ? line : line.trim()] })
    afterBlank = false
  }
  return blocks
}

/** The lines without the indentation that they share. */
function unindented(lines: readonly string[]): string {
  const shared = Math.min(...lines.filter((line) => line !== '').map((line) => line.search(/\S/)))
  return lines.map((line) => line.slice(shared)).join('\n')
}

/** Escapes `<` outside of code, because Markdown would read a text such as <name> as HTML. */
const withoutTags = (text: string): string =>
  text
    .split('`')
    .map((part, n) => (n % 2 === 0 ? part.replaceAll('<', '\\<') : part))
    .join('`')

/**
 * The doc comments of the fields of one declaration in a source file, by name. A field in a group has the name `group.field`. `start` is
 * the line on which the declaration begins. The declaration ends at the first line that begins with a closing brace.
 */
export function fieldComments(file: string, start: string): Readonly<Record<string, string>> {
  const [, after] = readFileSync(file, 'utf8').split(`${start}\n`)
  if (after === undefined) throw new Error(`${file} has no line "${start}"`)
  const comments: Record<string, string> = {}
  let comment = ''
  let group = ''
  for (const line of (after.split(/^\}/m)[0] ?? '').split('\n')) {
    const trimmed = line.trim()
    const field = /^( {2}| {4})(?:readonly )?(\w+)\??: ?(.*)/.exec(line)
    if (trimmed.startsWith('/**')) comment = trimmed
    else if (trimmed.startsWith('*')) comment += `\n${trimmed}`
    else if (field) {
      const [, indent = '', name = '', value = ''] = field
      if (indent.length === 2) group = value.startsWith('z.strictObject({') ? name : ''
      comments[indent.length === 4 && group !== '' ? `${group}.${name}` : name] ??= commentText(comment)
      comment = ''
    }
  }
  return comments
}
