import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join, parse, resolve } from 'node:path'
import { Command } from 'commander'
import type { FileSummary } from '../../core/api/conversation.ts'
import type { CommandContext } from '../context.ts'
import type { ConversationClient } from '../conversation-client.ts'
import { withExamples } from '../options.ts'
import { plainLine, printLine, type Terminal } from '../terminal.ts'

export function filesCommand({ terminal, withConversations }: CommandContext): Command {
  const command = new Command('files')
    .description('list the files of a conversation, or save the files that the agent made')
    .argument('<conversation>')
    .option('--save <folder>', 'save the files that the agent made into this folder; existing files are not overwritten')
    .action((id: string, { save }: { save?: string }) =>
      withConversations(async (client) => {
        const files = await client.files(id)
        if (save === undefined) listFiles(terminal, files)
        else await saveFiles(terminal, client, files, save)
      }),
    )
  return withExamples(command, [
    ['daybook files costs', ''],
    ['daybook files costs --save .', 'saves them into the current folder'],
  ])
}

function listFiles(terminal: Terminal, files: readonly FileSummary[]): void {
  if (files.length === 0) printLine(terminal, 'no files')
  const rows = files.map(({ origin, filename, size_bytes, mime }) => ({
    how: origin === 'user' ? 'attached' : 'made    ',
    name: plainLine(filename),
    size: String(size_bytes),
    mime: plainLine(mime),
  }))
  const width = (field: 'name' | 'size') => Math.max(...rows.map((row) => row[field].length))
  for (const { how, name, size, mime } of rows) {
    printLine(terminal, `${how}  ${name.padEnd(width('name'))}  ${size.padStart(width('size'))} bytes  ${mime}`)
  }
}

async function saveFiles(terminal: Terminal, client: ConversationClient, files: readonly FileSummary[], folder: string): Promise<void> {
  const made = files.filter(({ origin }) => origin === 'artifact')
  if (made.length === 0) return printLine(terminal, 'the agent has made no files')
  const target = resolve(terminal.folder, folder)
  try {
    await mkdir(target, { recursive: true })
    for (const file of made) {
      const name = await writeNew(target, basename(file.filename), await client.readFile(file))
      printLine(terminal, `saved ${plainLine(join(folder, name))}`)
    }
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error
    throw new RangeError(`cannot save into ${folder}: ${error.message}`, { cause: error })
  }
}

/** Writes a file with a name that no other file has: `report.md`, `report-2.md` and so on. Returns the name. */
async function writeNew(folder: string, filename: string, content: Uint8Array): Promise<string> {
  const { name, ext } = parse(filename)
  for (let number = 1; ; number += 1) {
    const free = number === 1 ? filename : `${name}-${number}${ext}`
    try {
      await writeFile(join(folder, free), content, { flag: 'wx' })
      return free
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
  }
}
