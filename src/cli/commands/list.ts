import { Command } from 'commander'
import type { CommandContext } from '../context.ts'
import { positiveInteger, withExamples } from '../options.ts'
import { plainLine, printLine } from '../terminal.ts'

export function listCommand({ terminal, style, withConversations }: CommandContext): Command {
  const command = new Command('list')
    .description('list conversations, most recently active first')
    .option('--search <text>', 'only conversations whose title, messages or answers contain this text')
    .option('--limit <n>', 'at most this many', positiveInteger, 50)
    .action((options: { search?: string; limit: number }) =>
      withConversations(async (client) => {
        const { conversations, more } = await client.list(options)
        if (conversations.length === 0)
          printLine(terminal, options.search === undefined ? 'no conversations' : `no conversation contains "${plainLine(options.search)}"`)
        for (const { id, title, last_activity_at, open_turn } of conversations) {
          const state = open_turn === null ? '' : style.dim('  (a turn is open)')
          printLine(terminal, `${style.dim((last_activity_at ?? '').padEnd(24))}  ${id}  ${plainLine(title ?? '')}`.trimEnd() + state)
        }
        if (more) printLine(terminal, '… there are more: use --limit or --search')
      }),
    )
  return withExamples(command, [
    ['daybook list', ''],
    ['daybook list --search report --limit 5', ''],
  ])
}
