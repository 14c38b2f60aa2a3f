import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { Failure } from '../../core/failure.ts'
import { parseJson } from '../../core/json.ts'
import { parseBundle } from '../../core/timeline/bundle.ts'
import type { CommandContext } from '../context.ts'
import { readFailureText, writeFailureText } from '../errors.ts'
import { conversationName, positiveInteger, withExamples } from '../options.ts'
import { plainLine, printLine, withProgress } from '../terminal.ts'

/** What can be done with conversations from a terminal without running an agent. */
export function conversationCommands(context: CommandContext): readonly Command[] {
  return [
    listCommand(context),
    forkCommand(context),
    renameCommand(context),
    exportCommand(context),
    importCommand(context),
    deleteCommand(context),
  ]
}

function listCommand({ terminal, style, withConversations: withShelf }: CommandContext): Command {
  const command = new Command('list')
    .description('conversations, most recently active first')
    .option('--search <text>', 'only titles that contain this')
    .option('--limit <n>', 'at most this many', positiveInteger, 50)
    .action((options: { search?: string; limit: number }) =>
      withShelf(async (shelf) => {
        const { conversations, more } = await shelf.list(options)
        if (conversations.length === 0)
          printLine(terminal, options.search === undefined ? 'no conversations' : 'no conversations like that')
        for (const { id, title, last_activity_at, open_turn } of conversations) {
          const state = open_turn === null ? '' : style.dim('  (a turn is open)')
          printLine(terminal, `${style.dim((last_activity_at ?? '').padEnd(24))}  ${id}  ${plainLine(title ?? '')}`.trimEnd() + state)
        }
        if (more) printLine(terminal, '… more: use --limit or --search')
      }),
    )
  return withExamples(command, [
    ['daybook list', ''],
    ['daybook list --search report --limit 5', ''],
  ])
}

function forkCommand({ terminal, withConversations: withShelf }: CommandContext): Command {
  const command = new Command('fork')
    .description('go on from a turn in a conversation of its own')
    .argument('<conversation>')
    .option('--turn <id>', 'the last turn to take along; all of them when not said')
    .option('--as <conversation>', 'its name; one is made up when not said', conversationName)
    .action((id: string, { turn, as }: { turn?: string; as?: string }) =>
      withShelf(async (shelf) => {
        const made = await shelf.fork(id, { ...(as !== undefined && { as }), ...(turn !== undefined && { atTurn: turn }) })
        printLine(terminal, `forked ${id} as ${made.id}: daybook chat --conversation ${made.id}`)
      }),
    )
  return withExamples(command, [['daybook fork costs --turn turn_2 --as costs-otherwise', '']])
}

function renameCommand({ terminal, withConversations: withShelf }: CommandContext): Command {
  const command = new Command('rename')
    .description('give a conversation another title')
    .argument('<conversation>')
    .argument('<title>')
    .action((id: string, title: string) =>
      withShelf(async (shelf) => {
        if (title.trim() === '') throw new RangeError('a title must say something')
        await shelf.rename(id, title.trim())
        printLine(terminal, `renamed ${id}`)
      }),
    )
  return withExamples(command, [['daybook rename costs "Costs of 2026"', '']])
}

function exportCommand({ terminal, style, withConversations: withShelf }: CommandContext): Command {
  const command = new Command('export')
    .description('a whole conversation as one JSON file')
    .argument('<conversation>')
    .option('--out <file>', 'write here instead of to the terminal')
    .action((id: string, options: { out?: string }) =>
      withShelf(async (shelf) => {
        const bundle = await withProgress(terminal, style, `exporting ${id}`, () => shelf.exportBundle(id))
        const text = `${JSON.stringify(bundle, null, 1)}\n`
        if (options.out === undefined) terminal.output.write(text)
        else await writeOut(resolve(terminal.folder, options.out), options.out, text)
      }),
    )
  return withExamples(command, [
    ['daybook export costs --out costs.json', ''],
    ['daybook export costs | gzip > costs.json.gz', ''],
  ])
}

function importCommand({ terminal, style, withConversations: withShelf }: CommandContext): Command {
  const command = new Command('import')
    .description('a bundle, or a bare conv.timeline.v1 payload, as a new conversation')
    .argument('<file>')
    .option('--as <conversation>', 'under this name instead of its own', conversationName)
    .action((file: string, options: { as?: string }) =>
      withShelf(async (shelf) => {
        const bundle = parseBundle(await readJsonFile(resolve(terminal.folder, file), file))
        const { id } = await withProgress(terminal, style, `importing ${file}`, () => shelf.importBundle(bundle, options.as))
        printLine(terminal, `imported ${id}: ${bundle.turn_logs.length} turns, ${bundle.timeline.blocks.length} visible blocks`)
      }),
    )
  return withExamples(command, [['daybook import costs.json --as costs-again', '']])
}

function deleteCommand({ terminal, withConversations: withShelf }: CommandContext): Command {
  const command = new Command('delete')
    .description('a conversation, its files and everything only it refers to')
    .argument('<conversation>')
    .action((id: string) =>
      withShelf(async (shelf) => {
        await shelf.delete(id)
        printLine(terminal, `deleted ${id}`)
      }),
    )
  return withExamples(command, [['daybook export costs --out costs.json && daybook delete costs', '']])
}

async function writeOut(file: string, name: string, text: string): Promise<void> {
  await writeFile(file, text).catch((error: NodeJS.ErrnoException) => {
    throw new RangeError(`cannot write ${name}: ${writeFailureText(error)}`, { cause: error })
  })
}

async function readJsonFile(file: string, name: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Failure('bundle.invalid', `cannot read ${name}: ${readFailureText(error)}`, { cause: error })
  })
  const value = parseJson(text)
  if (value === undefined) throw new Failure('bundle.invalid', `${name} is not JSON`)
  return value
}
