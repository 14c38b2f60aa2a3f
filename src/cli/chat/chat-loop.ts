import type { SourceRow } from '../../core/sources/source.ts'
import type { Change } from '../../core/timeline/change.ts'
import { pausesTurn, waitsAfter } from '../../core/timeline/waits.ts'
import type { CommandContext } from '../context.ts'
import { timelineIfExists } from '../conversation-client.ts'
import { describeError } from '../errors.ts'
import { markdownFor } from '../markdown.ts'
import type { Session } from '../session.ts'
import { keepProcessRunning, plainLine } from '../terminal.ts'
import { createTurnPrinter, type TurnPrinter } from '../turn-printer.ts'
import { type Chat, type ChatExit, interrupt, parseChatLine, runChatCommand } from './chat-commands.ts'
import { createChatScreen } from './screen.ts'

/**
 * Runs one conversation in a terminal, until the user leaves it. Events are printed when they arrive. At the same time, the lines that the
 * user types are handled one after the other.
 */
export async function runChat(session: Session, { terminal, style }: CommandContext): Promise<ChatExit> {
  const { conversation } = session
  const exit = Promise.withResolvers<ChatExit>()
  const events = new AbortController()
  let queue: Promise<void> = Promise.resolve()
  let inputEnded = false

  const enqueue = (work: () => Promise<void>) => {
    const printError = (error: unknown) => screen.printLine(style.failure(describeError(error) ?? String(error)))
    queue = queue.then(work).catch(printError).then(onIdle)
  }
  const screen = createChatScreen(terminal, {
    line: (text) => enqueue(() => runChatCommand(chat, parseChatLine(text))),
    interrupt: () => enqueue(() => interrupt(chat)),
    end() {
      inputEnded = true
      enqueue(async () => {})
    },
  })
  const chat: Chat = {
    session,
    screen,
    style,
    folder: terminal.folder,
    exit: exit.resolve,
    running: false,
    unread: new Set(),
    read: new Set(),
    interrupted: false,
    attached: [],
    waits: [],
  }
  /**
   * Called after each line and at the end of each turn. If the input has ended, leaves the chat. If the input is a pipe, it leaves only
   * when no turn is running, so that the last message gets its answer. If the input has not ended and no turn is running, shows the prompt.
   */
  function onIdle(): void {
    const isBusy = chat.running || chat.unread.size > 0 // a message that the last turn has not read starts the next turn
    if (inputEnded && (!isBusy || terminal.input.isTTY)) exit.resolve('quit')
    else if (!isBusy) screen.showPrompt()
  }

  const stopListening = terminal.onSignal(() => exit.resolve('quit'))
  const stopWaiting = keepProcessRunning()
  try {
    const markdown = markdownFor(terminal.output, terminal.environment)
    const printer = createTurnPrinter({ answer: screen.write, progress: screen.write, failures: screen.write, markdown }, style)
    const after = await conversation.lastSeq()
    await printHistory(chat, printer)
    screen.printLine(style.dim(`${conversation.id} · /help lists the commands`))
    printEvents(chat, printer, after, events.signal, onIdle).catch(exit.reject)
    onIdle()
    return await Promise.race([exit.promise, conversation.broken])
  } finally {
    stopListening()
    stopWaiting()
    events.abort()
    screen.close()
  }
}

async function printEvents(chat: Chat, printer: TurnPrinter, after: number, signal: AbortSignal, onIdle: () => void): Promise<void> {
  for await (const event of chat.session.conversation.follow(after, signal)) {
    if (event.type === 'entry') noteRead(chat, event.change)
    printer.print(event)
    if (event.type !== 'entry') continue
    const { change } = event
    if (turnChanges.has(change.type)) chat.running = true
    if (change.type === 'turn.waiting') chat.waits = waitsAfter(chat.waits, change)
    if (change.type === 'turn.resumed') chat.waits = waitsAfter(chat.waits, change)
    if (change.type === 'turn.closed') chat.waits = []
    if (!pausesTurn(change)) continue
    if (chat.waits.some(({ kind }) => kind === 'approval' || kind === 'child'))
      chat.screen.printLine(chat.style.dim('/approve runs the call, /refuse <reason> refuses it'))
    Object.assign(chat, { running: false, interrupted: false })
    onIdle()
  }
}

/**
 * Updates which messages turns have read. A turn that waits for a person reads no messages. So when a turn begins to wait, all messages are
 * removed from `unread`, and the chat does not wait until they are read.
 */
function noteRead({ read, unread }: Chat, change: Change): void {
  if (change.type === 'turn.waiting') unread.clear()
  if (change.type !== 'event.folded') return
  for (const eventId of change.event_ids) {
    read.add(eventId)
    unread.delete(eventId)
  }
}

/**
 * An entry with any of these changes shows that a turn is running. If another process opened the turn before the chat began, the chat
 * sees no `turn.opened`, but later entries.
 */
const turnChanges: ReadonlySet<string> = new Set<Change['type']>(['turn.opened', 'blocks.appended', 'response.received'])

const historyTurns = 3

/** Prints the title and the last three turns of a conversation that already exists. */
async function printHistory(chat: Chat, printer: TurnPrinter): Promise<void> {
  const { session, screen, style } = chat
  const { id } = session.conversation
  const timeline = await timelineIfExists(session.conversations, id)
  if (!timeline || timeline.blocks.length === 0) return
  const turns = new Set(timeline.turn_ids.slice(-historyTurns))
  const earlier = timeline.turn_ids.length - turns.size
  if (timeline.conversation_title) screen.printLine(style.bold(plainLine(timeline.conversation_title)))
  if (earlier > 0) screen.printLine(style.dim(`… ${earlier} earlier turns: daybook show ${id}`))
  const blocks = timeline.blocks.filter(({ turn_id }) => turns.has(turn_id))
  // The sources of an imported conversation may lack fields of `SourceRow`. The printer does not use these fields.
  printer.printHistory(blocks, timeline.sources_pool as readonly SourceRow[])
  printer.endLine()
  const { open_turn } = await session.conversations.get(id)
  chat.running = open_turn !== null && session.remote
  if (open_turn !== null && !session.remote) {
    screen.printLine(style.dim('the last turn is unfinished: another process runs it, or it is resumed with your next message'))
  }
}
