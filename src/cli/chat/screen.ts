import { createInterface, type Interface } from 'node:readline'
import type { Writable } from 'node:stream'
import type { Terminal } from '../terminal.ts'

export interface ChatScreen {
  /** At once, or when the line that is being typed is finished: nobody's words are torn apart. */
  write(text: string): void
  /** A line of our own. */
  printLine(text: string): void
  /** It is the user's turn: the prompt is shown. */
  showPrompt(): void
  /** Something is running: the prompt comes when somebody types. */
  hidePrompt(): void
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
  const paper = createPromptOutput(output)
  let asking = false // the prompt is on the screen
  let closed = false

  const isTyping = () => live && asking && lines.line !== ''
  const ask = () => {
    if (!live || asking || closed) return
    paper.endLine()
    asking = true
    lines.prompt()
  }
  /** Takes the empty prompt off the screen. */
  const withdraw = () => {
    if (asking) paper.wipe(prompt.length)
    asking = false
  }
  const write = (text: string) => {
    if (isTyping()) return paper.hold(text)
    withdraw()
    paper.put(text)
  }
  const onKey = (sign: string | undefined) => {
    if (sign !== undefined && sign >= ' ') ask()
  }

  if (live) input.prependListener('keypress', onKey) // before readline shows the first sign of a line
  lines.on('line', (text) => {
    asking = false
    paper.lineEnded() // by whoever typed
    events.line(text)
  })
  lines.on('SIGINT', () => (lines.line === '' ? events.interrupt() : clearLine(lines)))
  lines.on('close', () => events.end())

  return {
    write,
    printLine: (text) => write(`${paper.isFresh() ? '' : '\n'}${text}\n`),
    showPrompt() {
      if (!isTyping()) ask()
    },
    hidePrompt() {
      if (!isTyping()) withdraw()
    },
    close() {
      withdraw()
      paper.endLine()
      closed = true
      input.off('keypress', onKey)
      lines.close()
    },
  }
}

/** What was typed is thrown away, as in a shell. */
function clearLine(lines: Interface): void {
  lines.write(null, { ctrl: true, name: 'e' })
  lines.write(null, { ctrl: true, name: 'u' })
}

/** Knows whether it is at the beginning of a line, and keeps what has to wait. */
function createPromptOutput(output: Writable) {
  let fresh = true
  let held = ''
  const put = (text: string) => {
    const all = held + text
    held = ''
    if (all === '') return
    output.write(all)
    fresh = all.endsWith('\n')
  }
  return {
    put,
    hold(text: string) {
      held += text
    },
    isFresh: () => (held === '' ? fresh : held.endsWith('\n')),
    /** What waits is written, and the next thing begins a line. */
    endLine() {
      put('')
      if (!fresh) put('\n')
    },
    lineEnded() {
      fresh = true
      put('')
    },
    wipe(length: number) {
      output.write(`\r${' '.repeat(length)}\r`)
      fresh = true
    },
  }
}
