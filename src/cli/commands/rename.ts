import { Command } from 'commander'
import type { CommandContext } from '../context.ts'
import { withExamples } from '../options.ts'
import { printLine } from '../terminal.ts'

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
