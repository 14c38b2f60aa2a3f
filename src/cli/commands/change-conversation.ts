import { Command } from 'commander'
import type { CommandContext } from '../context.ts'
import { conversationName, withExamples } from '../options.ts'
import { printLine } from '../terminal.ts'

/* The commands that rename, copy and delete a conversation. */

export function deleteCommand({ terminal, withConversations }: CommandContext): Command {
  const command = new Command('delete')
    .description('delete a conversation, its workspace and every file that only it refers to')
    .argument('<conversation>')
    .action((id: string) =>
      withConversations(async (client) => {
        await client.delete(id)
        printLine(terminal, `deleted ${id}`)
      }),
    )
  return withExamples(command, [['daybook export costs --out costs.json && daybook delete costs', '']])
}

export function renameCommand({ terminal, withConversations }: CommandContext): Command {
  const command = new Command('rename')
    .description('change the title of a conversation')
    .argument('<conversation>')
    .argument('<title>')
    .action((id: string, title: string) =>
      withConversations(async (client) => {
        if (title.trim() === '') throw new RangeError('the title must not be empty')
        await client.rename(id, title.trim())
        printLine(terminal, `renamed ${id}`)
      }),
    )
  return withExamples(command, [['daybook rename costs "Costs of 2026"', '']])
}

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
