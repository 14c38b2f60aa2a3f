import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Command } from 'commander'
import type { CommandContext } from '../context.ts'
import { writeFailureText } from '../errors.ts'
import { withExamples } from '../options.ts'
import { withProgress } from '../terminal.ts'

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
