import { Command } from 'commander'
import type { CommandContext } from '../context.ts'
import { withExamples } from '../options.ts'
import { printLine } from '../terminal.ts'

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
