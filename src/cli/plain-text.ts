/**
 * Text of others as a terminal may show it. A terminal obeys what it is sent: a model, a file or a title could move the cursor, rename the
 * window or write into the clipboard. Signs that would be obeyed are shown as pictures of themselves.
 */
export const plainText = (text: string): string => text.replace(controlCharacters, visibleCharacter)

/** The same on one line. */
export const plainLine = (text: string): string => plainText(text.replace(/\s+/g, ' ').trim())

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
const controlCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

function visibleCharacter(sign: string): string {
  const code = sign.charCodeAt(0)
  if (code === 0x0d) return ''
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd'
}
