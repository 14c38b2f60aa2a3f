import { createInterface } from 'node:readline'
import type { Terminal } from './terminal.ts'

export interface ChatScreen {
  /** At once, or when the line that is being typed is finished: nobody's words are torn apart. */
  write(text: string): void
  /** A line of our own. */
  say(text: string): void
  /** It is the user's turn: the prompt is shown. */
  ready(): void
  /** Something is running: the prompt comes when somebody types. */
  busy(): void
  close(): void
}

export interface ChatEvents {
  line(text: string): void
  /** Ctrl-C on an empty line. */
  interrupt(): void
  /** No more lines will come. */
  end(): void
}

const prompt = '› '

/** A terminal that is written to and typed in at the same time. Without a terminal it is only lines in and text out. */
export function createChatScreen({ input, output }: Pick<Terminal, 'input' | 'output'>, events: ChatEvents): ChatScreen {
  const live = input.isTTY === true && output.isTTY === true
  const lines = createInterface({ input, output, terminal: live, prompt: live ? prompt : '', historySize: 500 })
  let fresh = true // at the beginning of a line
  let asking = false // the prompt is on the screen
  let held = ''
  let closed = false

  const put = (text: string) => {
    if (text === '') return
    output.write(text)
    fresh = text.endsWith('\n')
  }
  const release = () => {
    const text = held
    held = ''
    put(text)
  }
  const ask = () => {
    if (!live || asking || closed) return
    if (!fresh) put('\n')
    asking = true
    lines.prompt()
  }
  /** Takes the empty prompt off the screen. */
  const withdraw = () => {
    if (!asking) return
    asking = false
    output.write(`\r${' '.repeat(prompt.length)}\r`)
    fresh = true
  }
  const isTyping = () => live && asking && lines.line !== ''

  const onKey = (sign: string | undefined) => {
    if (sign !== undefined && sign >= ' ') ask()
  }
  if (live) input.prependListener('keypress', onKey) // before readline shows the first sign of a line
  lines.on('line', (text) => {
    asking = false
    fresh = true // whoever typed ended the line
    release()
    events.line(text)
  })
  lines.on('SIGINT', () => {
    if (lines.line === '') return events.interrupt()
    lines.write(null, { ctrl: true, name: 'e' })
    lines.write(null, { ctrl: true, name: 'u' }) // what was typed is thrown away, as in a shell
  })
  lines.on('close', () => events.end())

  const write = (text: string) => {
    if (isTyping()) held += text
    else {
      withdraw()
      release()
      put(text)
    }
  }
  return {
    write,
    say(text) {
      write(`${fresh || held.endsWith('\n') ? '' : '\n'}${text}\n`)
    },
    ready() {
      if (isTyping()) return
      release()
      ask()
    },
    busy() {
      if (!isTyping()) withdraw()
    },
    close() {
      withdraw()
      release()
      if (!fresh) put('\n')
      closed = true
      input.off('keypress', onKey)
      lines.close()
    },
  }
}
