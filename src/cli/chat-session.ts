import { type Chat, interrupt, type Leaving, obey } from './chat-deeds.ts'
import { showPast } from './chat-past.ts'
import { createChatScreen } from './chat-screen.ts'
import { readChatLine } from './chat-words.ts'
import type { CommandContext } from './context.ts'
import { describeError } from './describe-error.ts'
import type { Talk } from './talk.ts'
import { createTurnPrinter, type TurnPrinter } from './turn-printer.ts'

/**
 * One conversation in a terminal. Two things happen at once: events are printed as they come, and lines are read as they are typed; what
 * is typed is dealt with one after the other.
 */
export async function chatSession(talk: Talk, { terminal, style }: CommandContext): Promise<Leaving> {
  const left = Promise.withResolvers<Leaving>()
  const away = new AbortController()
  let last: Promise<void> = Promise.resolve()
  let ended = false // no more lines will come

  const enqueue = (work: () => Promise<void>) => {
    const tell = (error: unknown) => chat.screen.say(style.bad(describeError(error) ?? String(error)))
    last = last.then(work).catch(tell).then(rest)
  }
  const screen = createChatScreen(terminal, {
    line: (text) => enqueue(() => obey(chat, readChatLine(text))),
    interrupt: () => enqueue(() => interrupt(chat)),
    end() {
      ended = true
      enqueue(async () => {})
    },
  })
  const chat: Chat = {
    talk,
    screen,
    style,
    folder: terminal.folder,
    leave: left.resolve,
    running: false,
    interrupted: false,
    attached: [],
  }
  /** Between two things: time to go, or the user's turn. A pipe that ended is answered first; who closes a terminal wants to leave. */
  function rest(): void {
    if (ended && (!chat.running || terminal.input.isTTY)) left.resolve('quit')
    else if (!chat.running) screen.ready()
  }

  const forget = terminal.onEnd(() => left.resolve('quit'))
  try {
    const printer = createTurnPrinter(screen.write, style)
    const after = await talk.line.lastSeq()
    await showPast(chat, printer)
    screen.say(style.quiet(`${talk.line.conversation} · /help says what can be done`))
    watch(chat, printer, after, away.signal, rest).catch(left.reject)
    rest()
    return await Promise.race([left.promise, talk.line.broken])
  } finally {
    forget()
    away.abort()
    screen.close()
  }
}

async function watch(chat: Chat, printer: TurnPrinter, after: number, signal: AbortSignal, rest: () => void): Promise<void> {
  for await (const event of chat.talk.line.follow(after, signal)) {
    printer.print(event)
    if (event.type !== 'entry') continue
    if (event.change.type === 'turn.opened') chat.running = true
    if (event.change.type !== 'turn.closed') continue
    printer.endLine()
    Object.assign(chat, { running: false, interrupted: false })
    rest()
  }
}
