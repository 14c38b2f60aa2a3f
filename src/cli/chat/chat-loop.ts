import { printHistory } from '../chat-past.ts'
import { parseChatLine } from '../chat-words.ts'
import type { CommandContext } from '../context.ts'
import { describeError } from '../errors.ts'
import type { Session } from '../session.ts'
import { createTurnPrinter, type TurnPrinter } from '../turn-printer.ts'
import { type Chat, type ChatExit, interrupt, runChatCommand } from './chat-commands.ts'
import { createChatScreen } from './screen.ts'

/**
 * One conversation in a terminal. Two things happen at once: events are printed as they come, and lines are read as they are typed; what
 * is typed is dealt with one after the other.
 */
export async function runChat(talk: Session, { terminal, style }: CommandContext): Promise<ChatExit> {
  const left = Promise.withResolvers<ChatExit>()
  const away = new AbortController()
  let last: Promise<void> = Promise.resolve()
  let ended = false // no more lines will come

  const enqueue = (work: () => Promise<void>) => {
    const tell = (error: unknown) => chat.screen.printLine(style.failure(describeError(error) ?? String(error)))
    last = last.then(work).catch(tell).then(rest)
  }
  const screen = createChatScreen(terminal, {
    line: (text) => enqueue(() => runChatCommand(chat, parseChatLine(text))),
    interrupt: () => enqueue(() => interrupt(chat)),
    end() {
      ended = true
      enqueue(async () => {})
    },
  })
  const chat: Chat = {
    session: talk,
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
    else if (!chat.running) screen.showPrompt()
  }

  const forget = terminal.onSignal(() => left.resolve('quit'))
  try {
    const printer = createTurnPrinter(screen.write, style)
    const after = await talk.conversation.lastSeq()
    await printHistory(chat, printer)
    screen.printLine(style.dim(`${talk.conversation.id} · /help says what can be done`))
    printEvents(chat, printer, after, away.signal, rest).catch(left.reject)
    rest()
    return await Promise.race([left.promise, talk.conversation.broken])
  } finally {
    forget()
    away.abort()
    screen.close()
  }
}

async function printEvents(chat: Chat, printer: TurnPrinter, after: number, signal: AbortSignal, rest: () => void): Promise<void> {
  for await (const event of chat.session.conversation.follow(after, signal)) {
    printer.print(event)
    if (event.type !== 'entry') continue
    if (event.change.type === 'turn.opened') chat.running = true
    if (event.change.type !== 'turn.closed') continue
    printer.endLine()
    Object.assign(chat, { running: false, interrupted: false })
    rest()
  }
}
