import { createInterface, type Interface } from 'node:readline'
import type { Writable } from 'node:stream'
import type { Terminal } from '../terminal.ts'

/** The terminal of a chat, to which output is printed while the user types. */
export interface ChatScreen {
  /** Prints text. While the user is typing a line, the text is stored and is printed when the line is finished. */
  write(text: string): void
  /** Prints text on a line of its own. */
  printLine(text: string): void
  showPrompt(): void
  /** Removes the prompt from the screen. It appears again when the user types. If the user has typed a part of a line, nothing happens. */
  hidePrompt(): void
  close(): void
}

interface ChatEvents {
  line(text: string): void
  /** Called when Ctrl-C is pressed on an empty line. On other lines, Ctrl-C only clears the line. */
  interrupt(): void
  /** Called when the input has ended. */
  end(): void
}

const prompt = '› '

/** Creates the screen of a chat. It has a prompt and line editing only if input and output are terminals. */
export function createChatScreen({ input, output }: Pick<Terminal, 'input' | 'output'>, events: ChatEvents): ChatScreen {
  const interactive = input.isTTY === true && output.isTTY === true
  const lines = createInterface({ input, output, terminal: interactive, prompt: interactive ? prompt : '', historySize: 500 })
  const writer = createBufferedWriter(output)
  let promptShown = false
  let closed = false

  const isTyping = () => interactive && promptShown && lines.line !== ''
  const showPrompt = () => {
    if (!interactive || promptShown || closed) return
    writer.endLine()
    promptShown = true
    lines.prompt()
  }
  const hidePrompt = () => {
    if (promptShown) writer.erase(prompt.length)
    promptShown = false
  }
  const write = (text: string) => {
    if (isTyping()) return writer.hold(text)
    hidePrompt()
    writer.write(text)
  }
  const onKey = (key: string | undefined) => {
    if (key !== undefined && key >= ' ') showPrompt()
  }

  // This listener must run before the listener of readline: it shows the prompt, and then readline shows the typed character after it.
  if (interactive) input.prependListener('keypress', onKey)
  lines.on('line', (text) => {
    promptShown = false
    writer.lineEnded()
    events.line(text)
  })
  lines.on('SIGINT', () => (lines.line === '' ? events.interrupt() : clearLine(lines)))
  lines.on('close', () => events.end())

  return {
    write,
    printLine: (text) => write(`${writer.atLineStart() ? '' : '\n'}${text}\n`),
    showPrompt() {
      if (!isTyping()) showPrompt()
    },
    hidePrompt() {
      if (!isTyping()) hidePrompt()
    },
    close() {
      hidePrompt()
      writer.endLine()
      closed = true
      input.off('keypress', onKey)
      lines.close()
    },
  }
}

/** Clears the line that the user is typing. Ctrl-C in a shell does the same. */
function clearLine(lines: Interface): void {
  lines.write(null, { ctrl: true, name: 'e' })
  lines.write(null, { ctrl: true, name: 'u' })
}

/**
 * Makes a writer for the output of a chat. `hold` stores text, and the next `write` writes the stored text first. The writer also knows
 * whether the output is at the start of a line.
 */
function createBufferedWriter(output: Writable) {
  let lineStart = true
  let held = ''
  const write = (text: string) => {
    const all = held + text
    held = ''
    if (all === '') return
    output.write(all)
    lineStart = all.endsWith('\n')
  }
  return {
    write,
    hold(text: string) {
      held += text
    },
    atLineStart: () => (held === '' ? lineStart : held.endsWith('\n')),
    /** Writes the stored text. Then ends the line, unless the output is at the start of a line. */
    endLine() {
      write('')
      if (!lineStart) write('\n')
    },
    /** Call it when the user has pressed Enter, because the cursor is then at the start of a line. */
    lineEnded() {
      lineStart = true
      write('')
    },
    erase(length: number) {
      output.write(`\r${' '.repeat(length)}\r`)
      lineStart = true
    },
  }
}
