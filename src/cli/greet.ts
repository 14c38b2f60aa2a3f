import type { CommandContext } from './context.ts'
import { printLine } from './terminal.ts'

/** What it is, where its data is, and what to type next. */
export async function printWelcome(context: CommandContext, version: string): Promise<void> {
  const { terminal } = context
  const { data, server } = await context.settings()
  const { conversations, more } = await context.withConversations((shelf) => shelf.list({ limit: 100 }))
  printLine(terminal, `daybook ${version} on Node ${process.versions.node}`)
  printLine(terminal, 'A timeline-native agent runtime: everything is entered once, in order, and every other view is derived from it.')
  printLine(terminal)
  printLine(terminal, server === undefined ? `data            ${data}` : `server          ${server}`)
  printLine(terminal, `conversations   ${more ? 'more than 100' : conversations.length}`)
  printLine(terminal)
  printLine(terminal, 'next            daybook chat   daybook run "…"   daybook serve   daybook doctor   daybook --help')
}
