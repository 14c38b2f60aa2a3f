import { Command } from 'commander'
import { indexKnowledge } from '../../wiring/knowledge.ts'
import type { CommandContext } from '../context.ts'
import { withExamples } from '../options.ts'
import { columns, plural } from '../table.ts'
import { plainLine, printLine } from '../terminal.ts'

/** The command `knowledge`. It exits with 0 even if files are left out, because the agent works without them. */
export function knowledgeCommand(context: CommandContext): Command {
  const { terminal, style } = context
  const command = new Command('knowledge')
    .description('read the documents of the knowledge folders into the index, and show which files are left out')
    .option('--list', 'list the documents')
    .option('--rebuild', 'read every document again, even if it has not changed')
    .action(async ({ list = false, rebuild = false }: { list?: boolean; rebuild?: boolean }) => {
      const settings = await context.settingsWithAgent()
      let shown = 0
      const found = await indexKnowledge(settings, {
        rebuild,
        onProgress({ done, total }) {
          const share = Math.floor((10 * done) / total)
          // prints a line after each tenth of the documents, and no lines if there are fewer than 100 documents
          if (share === shown || total < 100) return
          shown = share
          terminal.errors.write(`${done} of ${plural(total, 'document')} read\n`)
        },
      })
      if (!found) {
        printLine(terminal, 'there is no knowledge folder: name one with --knowledge, or with the setting knowledge')
        return
      }
      const { report, documents } = found
      const rows = documents.filter(({ mime }) => mime !== '').map(({ path, title, size }) => [plainLine(path), plainLine(title), size])
      if (list && rows.length > 0) for (const row of columns([['path', 'title', 'bytes'], ...rows])) printLine(terminal, row)
      for (const { path, problem } of report.problems) printLine(terminal, style.failure(plainLine(`${path} ${problem}`)))
      const changes = `${report.indexed} read, ${report.removed} removed, ${report.problems.length} with problems`
      printLine(terminal, `${plural(report.documents, 'document')} can be found (${changes})`)
    })
  return withExamples(command, [
    ['daybook knowledge --knowledge ./docs', ''],
    ['daybook knowledge --knowledge handbook=./docs,./policies --list', 'the paths are ks:handbook/… and ks:policies/…'],
  ])
}
