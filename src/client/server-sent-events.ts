/** One event of a stream, as the standard reads it. */
export interface ServerSentEvent {
  readonly event: string
  readonly data: string
  /** Where to resume: the latest id so far. */
  readonly id: string | undefined
}

const maxLineLength = 64 * 1024 * 1024

/** The events of a response, however the network cut it. Comments keep the line open and say nothing. */
export async function* serverSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const frame = createEventReader()
  for await (const line of linesOf(body)) {
    const event = frame.take(line)
    if (event) yield event
  }
}

/** Lines end with LF, CR or CR LF; a CR at the end of a piece may be half of an ending. */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let begun: string[] = [] // the pieces of a line that has not ended: put together once, however many there are
  let length = 0
  let afterReturn = false
  for await (const bytes of body) {
    let text = decoder.decode(bytes, { stream: true })
    if (text === '') continue
    if (afterReturn && text.startsWith('\n')) text = text.slice(1)
    afterReturn = text === '' ? false : text.endsWith('\r')
    const [end = '', ...lines] = text.split(/\r\n|\r|\n/)
    begun.push(end)
    length += end.length
    for (const next of lines) {
      yield begun.join('')
      begun = [next]
      length = next.length
    }
    if (length > maxLineLength) throw new RangeError('a line of the event stream never ends')
  }
}

function createEventReader() {
  let data: string[] = []
  let event = ''
  let id: string | undefined
  return {
    take(line: string): ServerSentEvent | undefined {
      if (line === '') {
        const whole = data.length === 0 ? undefined : { event: event || 'message', data: data.join('\n'), id }
        data = []
        event = ''
        return whole
      }
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
      if (name === 'data') data.push(value)
      else if (name === 'event') event = value
      else if (name === 'id' && !value.includes('\0')) id = value
      return undefined
    },
  }
}
