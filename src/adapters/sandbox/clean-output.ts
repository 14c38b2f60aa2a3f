const [tab, newline, carriageReturn, escapeCharacter, bell, deleteCharacter] = [0x09, 0x0a, 0x0d, 0x1b, 0x07, 0x7f]

/**
 * Removes escape sequences and control characters, which would control a terminal or hide text in it. Tabs and line breaks are kept. A
 * carriage return becomes a line break, because programs use it to write over a line. Each character is read once.
 */
export function cleanOutput(text: string): string {
  let clean = ''
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === escapeCharacter || code === 0x9b || code === 0x9d) at = endOfSequence(text, at)
    else if (code === carriageReturn) {
      if (text.charCodeAt(at + 1) !== newline) clean += '\n'
      at += 1
    } else {
      const control = (code < 0x20 && code !== tab && code !== newline) || (code >= deleteCharacter && code < 0xa0)
      if (!control) clean += text[at]
      at += 1
    }
  }
  return clean
}

/**
 * The index behind the escape sequence that begins at `start`. There are two kinds with content: a control sequence (`ESC [`), which ends
 * with a character from `@` to `~`, and a text for the terminal (`ESC ]`, `ESC P`, `ESC X`, `ESC ^`, `ESC _`), which ends with BEL or with
 * `ESC \`. If a sequence does not end in its line, only the rest of this line is dropped. So the sequence can not hide later lines.
 */
function endOfSequence(text: string, start: number): number {
  const first = text.charCodeAt(start)
  const kind = first === escapeCharacter ? text[start + 1] : first === 0x9b ? '[' : ']'
  const content = first === escapeCharacter ? start + 2 : start + 1
  if (kind === undefined || kind === '\n') return start + 1
  const isText = ']PX^_'.includes(kind)
  if (kind !== '[' && !isText) return content
  for (let at = content; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === newline) return at
    if (isText && code === bell) return at + 1
    if (isText && code === escapeCharacter) return text[at + 1] === '\\' ? at + 2 : at
    if (!isText && code >= 0x40 && code <= 0x7e) return at + 1
  }
  return text.length
}
