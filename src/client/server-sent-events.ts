/** One event of a stream of server-sent events. */
export interface ServerSentEvent {
  readonly event: string
  readonly data: string
  /** The latest id in the stream so far. A client can resume the stream after the event with this id. */
  readonly id: string | undefined
}

const maxLineLength = 64 * 1024 * 1024

/** Parses a stream of server-sent events. Chunks may end anywhere, even inside of a character. Comments are skipped. */
export async function* serverSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const reader = createEventReader()
  for await (const line of linesOf(body)) {
    const event = reader.push(line)
    if (event) yield event
  }
}

/** The lines of a stream. A line ends with LF, CR or CR LF. If a chunk ends with CR, an LF may follow in the next chunk. */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  // the pieces of the current line. They are joined only once, because joining them for each chunk would take quadratic time
  let partial: string[] = []
  let length = 0
  let afterReturn = false
  for await (const bytes of body) {
    let text = decoder.decode(bytes, { stream: true })
    if (text === '') continue
    if (afterReturn && text.startsWith('\n')) text = text.slice(1)
    afterReturn = text === '' ? false : text.endsWith('\r')
    const [end = '', ...lines] = text.split(/\r\n|\r|\n/)
    partial.push(end)
    length += end.length
    for (const next of lines) {
      yield partial.join('')
      partial = [next]
      length = next.length
    }
    if (length > maxLineLength) throw new RangeError(`a line of the event stream has more than ${maxLineLength} characters`)
  }
}

function createEventReader() {
  let data: string[] = []
  let event = ''
  let id: string | undefined
  return {
    push(line: string): ServerSentEvent | undefined {
      if (line === '') {
        const complete = data.length === 0 ? undefined : { event: event || 'message', data: data.join('\n'), id }
        data = []
        event = ''
        return complete
      }
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
      if (name === 'data') data.push(value)
      else if (name === 'event') event = value
      else if (name === 'id' && !value.includes('\0')) id = value
      return undefined
    },
  }
}
