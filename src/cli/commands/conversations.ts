import { Command } from 'commander'
import type { CommandContext } from '../context.ts'
import { conversationName, positiveInteger, withExamples } from '../options.ts'
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
        for (const { id, title, last_activity_at, open_turn, parked } of conversations) {
          const states = [...(open_turn === null ? [] : ['a turn is open']), ...(parked ? [`parked: daybook retry ${id}`] : [])]
          const state = states.length === 0 ? '' : style.dim(`  (${states.join(', ')})`)
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

export function retryCommand({ terminal, style, withConversations }: CommandContext): Command {
  const command = new Command('retry')
    .description('let a conversation run again after its turns failed; without a name, list the conversations whose turns failed too often')
    .argument('[conversation]')
    .action((id: string | undefined) =>
      withConversations(async (client) => {
        if (id !== undefined) {
          const text = (await client.retry(id))
            ? `${id} is in the work list again: a running server takes it, or the next one that starts`
            : `the turns of ${id} have not failed: there is nothing to retry`
          return printLine(terminal, text)
        }
        const parked = await client.parked()
        if (parked.length === 0) printLine(terminal, 'no conversation is parked')
        for (const { id: key, at, attempts, reason } of parked)
          printLine(terminal, `${style.dim(at)}  ${key}  ${attempts} attempts: ${plainLine(reason)}`)
      }),
    )
  return withExamples(command, [
    ['daybook retry', 'lists the parked conversations with the reasons'],
    ['daybook retry costs', ''],
  ])
}

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
