import type { SourceRow } from '../../core/sources/source.ts'
import type { CommandContext } from '../context.ts'
import { timelineIfExists } from '../conversation-client.ts'
import { describeError } from '../errors.ts'
import type { Session } from '../session.ts'
import { plainLine } from '../terminal.ts'
import { createTurnPrinter, type TurnPrinter } from '../turn-printer.ts'
import { type Chat, type ChatExit, interrupt, parseChatLine, runChatCommand } from './chat-commands.ts'
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

const turnsShown = 3

/** What happened before, for whoever comes back. */
export async function printHistory(chat: Chat, printer: TurnPrinter): Promise<void> {
  const { session: talk, screen, style } = chat
  const { id: conversation } = talk.conversation
  const past = await timelineIfExists(talk.conversations, conversation)
  if (!past || past.blocks.length === 0) return
  const turns = new Set(past.turn_ids.slice(-turnsShown))
  const before = past.turn_ids.length - turns.size
  if (past.conversation_title) screen.printLine(style.bold(plainLine(past.conversation_title)))
  if (before > 0) screen.printLine(style.dim(`… ${before} more before; daybook show ${conversation}`))
  const shown = past.blocks.filter(({ turn_id }) => turns.has(turn_id))
  printer.printPast(shown, past.sources_pool as readonly SourceRow[]) // a view of the pool: rows that lack something are shown without it
  printer.endLine()
  const { open_turn } = await talk.conversations.get(conversation)
  chat.running = open_turn !== null && talk.remote
  if (open_turn !== null && !talk.remote)
    screen.printLine(style.dim('the last turn is not finished: it is taken up with what you say next'))
}
