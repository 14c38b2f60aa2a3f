import { readFileSync } from 'node:fs'

/** The text of a doc comment, without its stars, on one line for each paragraph. */
export function commentText(comment: string): string {
  const lines = comment
    .replace(/^\s*\/\*\*/, '')
    .replace(/\*\/\s*$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
  const paragraphs: string[] = []
  for (const line of lines.map((each) => each.trim()).filter((each) => each !== '')) {
    const startsItem = line.startsWith('- ') || paragraphs.length === 0
    if (startsItem) paragraphs.push(line)
    else paragraphs.push(`${paragraphs.pop()} ${line}`)
  }
  return withoutTags(paragraphs.join('\n'))
}

/** Escapes `<` outside of code, because Markdown would read a text such as <name> as HTML. */
const withoutTags = (text: string): string =>
  text
    .split('`')
    .map((part, n) => (n % 2 === 0 ? part.replaceAll('<', '\\<') : part))
    .join('`')

/**
 * The doc comments of the fields of one declaration in a source file, by name. A field in a group has the name `group.field`. `start` is the
 * line on which the declaration begins. It ends at the first line with a closing brace at its beginning.
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
