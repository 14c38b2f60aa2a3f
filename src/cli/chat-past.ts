import type { SourceRow } from '../core/sources/source.ts'
import type { Chat } from './chat/chat-commands.ts'
import { timelineIfExists } from './conversation-client.ts'
import { plainLine } from './plain-text.ts'
import type { TurnPrinter } from './turn-printer.ts'

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
