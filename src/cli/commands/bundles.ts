import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { Failure } from '../../core/failure.ts'
import { parseJson } from '../../core/json.ts'
import { parseBundle } from '../../core/timeline/bundle.ts'
import type { CommandContext } from '../context.ts'
import type { ConversationClient } from '../conversation-client.ts'
import { readFailureText, writeFailureText } from '../errors.ts'
import { conversationName, withExamples } from '../options.ts'
import { printLine, withProgress } from '../terminal.ts'

/* The commands that write a conversation to a file, and read a conversation from a file. */

export function exportCommand({ terminal, style, withConversations }: CommandContext): Command {
  const command = new Command('export')
    .description('write a whole conversation as one JSON file')
    .argument('<conversation>')
    .option('--out <file>', 'the file (default: the standard output)')
    .action((id: string, options: { out?: string }) =>
      withConversations(async (client) => {
        const bundle = await withProgress(terminal, style, `exporting ${id}`, () => client.exportBundle(id))
        const text = `${JSON.stringify(bundle, null, 1)}\n`
        if (options.out === undefined) terminal.output.write(text)
        else await write(resolve(terminal.folder, options.out), options.out, text)
      }),
    )
  return withExamples(command, [
    ['daybook export costs --out costs.json', ''],
    ['daybook export costs | gzip > costs.json.gz', ''],
  ])
}

async function write(file: string, name: string, text: string): Promise<void> {
  await writeFile(file, text).catch((error: NodeJS.ErrnoException) => {
    throw new RangeError(`cannot write ${name}: ${writeFailureText(error)}`, { cause: error })
  })
}

export function importCommand({ terminal, style, withConversations }: CommandContext): Command {
  const command = new Command('import')
    .description('import a bundle, or a bare conv.timeline.v1 payload, as a new conversation')
    .argument('<file>')
    .option('--as <conversation>', 'name of the new conversation (default: the name in the file)', conversationName)
    .action(async (file: string, options: { as?: string }) => {
      const bundle = parseBundle(await readJsonFile(resolve(terminal.folder, file), file))
      const importBundle = (client: ConversationClient) =>
        withProgress(terminal, style, `importing ${file}`, () => client.importBundle(bundle, options.as))
      const { id } = await withConversations(importBundle, { create: true })
      printLine(terminal, `imported ${id}: ${bundle.turn_logs.length} turns, ${bundle.timeline.blocks.length} visible blocks`)
    })
  return withExamples(command, [['daybook import costs.json --as costs-again', '']])
}

async function readJsonFile(file: string, name: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Failure('bundle.invalid', `cannot read ${name}: ${readFailureText(error)}`, { cause: error })
  })
  const value = parseJson(text)
  if (value === undefined) throw new Failure('bundle.invalid', `${name} is not JSON`)
  return value
}
