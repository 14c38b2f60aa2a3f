import { Command } from 'commander'
import type { CommandContext } from '../context.ts'
import { conversationName, withExamples } from '../options.ts'
import { printLine } from '../terminal.ts'

export function forkCommand({ terminal, withConversations }: CommandContext): Command {
  const command = new Command('fork')
    .description('copy a conversation up to a turn into a new one')
    .argument('<conversation>')
    .option('--turn <id>', 'the last turn to copy (default: all turns)')
    .option('--as <conversation>', 'name of the new conversation (default: a generated name)', conversationName)
    .action((id: string, { turn, as }: { turn?: string; as?: string }) =>
      withConversations(async (client) => {
        const fork = await client.fork(id, { ...(as !== undefined && { as }), ...(turn !== undefined && { atTurn: turn }) })
        printLine(terminal, `forked ${id} as ${fork.id}: daybook chat --conversation ${fork.id}`)
      }),
    )
  return withExamples(command, [['daybook fork costs --turn turn_1794799251181_4caa1a --as costs-variant', '']])
}
