/** The greatest number of characters in a text that a process sends or accepts. Followers get a longer answer only with its entry. */
export const MAX_TEXT = 4 * 1024 * 1024
const MAX_SENDERS = 1_000

/**
 * Splits a text into messages that a relay can carry. Each message begins with a line with the sender, the id of the text, the number of
 * the part, and the number of parts.
 */
export function splitText(from: string, textId: number, text: string, maxBytes: number): readonly string[] {
  const bytes = Buffer.from(text)
  const room = maxBytes - 80 // the first line has fewer than 80 bytes
  const parts: string[] = []
  for (let start = 0; start < bytes.length; ) {
    let end = Math.min(start + room, bytes.length)
    while (end < bytes.length && isContinuation(bytes[end])) end-- // no character is split
    parts.push(bytes.toString('utf8', start, end))
    start = end
  }
  return parts.map((part, index) => `${from} ${textId} ${index} ${parts.length}\n${part}`)
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

interface Unfinished {
  readonly textId: string
  readonly count: number
  readonly parts: string[]
  size: number
}

/**
 * Joins the messages of `splitText` into texts. The messages of one sender arrive in order, so a sender has at most one unfinished text. If
 * a message is missing, its text is dropped. Messages in another form are ignored.
 */
export function createTextReader(onText: (from: string, text: string) => void): (message: string) => void {
  const unfinished = new Map<string, Unfinished>()
  return (message) => {
    const lineEnd = message.indexOf('\n')
    const [from = '', textId = '', indexText, countText] = message.slice(0, Math.max(0, Math.min(lineEnd, 100))).split(' ')
    const [index, count] = [Number(indexText), Number(countText)]
    if (!isAddress(from) || !Number.isSafeInteger(index) || !Number.isSafeInteger(count) || index < 0 || index >= count) return
    const part = message.slice(lineEnd + 1)
    if (count === 1) {
      unfinished.delete(from)
      return onText(from, part)
    }
    if (index === 0) {
      if (unfinished.size >= MAX_SENDERS) unfinished.clear()
      unfinished.set(from, { textId, count, parts: [], size: 0 })
    }
    const text = unfinished.get(from)
    if (!text || text.textId !== textId || text.count !== count || text.parts.length !== index || text.size + part.length > MAX_TEXT)
      return void unfinished.delete(from)
    text.parts.push(part)
    text.size += part.length
    if (index < count - 1) return
    unfinished.delete(from)
    onText(from, text.parts.join(''))
  }
}

/** Whether a text can be the address of a process: 1 to 24 lower-case letters and digits. */
export function isAddress(text: string): boolean {
  if (text.length < 1 || text.length > 24) return false
  for (const sign of text) if (!(sign >= '0' && sign <= '9') && !(sign >= 'a' && sign <= 'z')) return false
  return true
}
