import { Command } from 'commander'
import type { EffectsView } from '../../core/api/report.ts'
import type { CommandContext } from '../context.ts'
import { withExamples } from '../options.ts'
import { columns, plural } from '../table.ts'
import { plainLine, printLine, type Style } from '../terminal.ts'

export function effectsCommand(context: CommandContext): Command {
  const { terminal, style, withConversations } = context
  const command = new Command('effects')
    .description('what the tools of a conversation have done: done, failed, unknown and waiting calls')
    .argument('<conversation>')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: { json?: true }) => {
      const { agent } = await context.settingsWithAgent()
      const readOnly = new Set(agent?.tools?.flatMap((tool) => (tool.readOnly ? [tool.id] : [])))
      await withConversations(async (client) => {
        const view = await client.effects(id)
        const effects = view.effects.filter(({ tool_id }) => !readOnly.has(tool_id))
        printLine(terminal, json ? JSON.stringify({ effects }, undefined, 1) : effectsTable(effects, style))
      })
    })
  return withExamples(command, [
    ['daybook effects costs', ''],
    ['daybook effects costs --json | jq \'.effects[] | select(.status == "unknown")\'', 'calls that a person has to look at'],
  ])
}

type Row = EffectsView['effects'][number]

/** A table with a line for each call, and a summary. */
export function effectsTable(effects: readonly Row[], style: Style): string {
  if (effects.length === 0) return 'no tool has changed anything'
  const [, ...lines] = columns([
    ['', '', '', ''],
    ...effects.map(({ called_at, status, tool_id, call_id }) => [called_at, status, plainLine(tool_id), call_id]),
  ])
  const rows = effects.flatMap(({ status, error }, index) => {
    const line = lines[index] ?? ''
    const shown = status === 'unknown' ? style.failure(line) : line
    return error ? [shown, style.dim(`    ${plainLine(`${error.code}: ${error.message}`)}`)] : [shown]
  })
  const unknown = effects.filter(({ status }) => status === 'unknown').length
  const summary = `${plural(effects.length, 'call')}${unknown > 0 ? `, ${unknown} with an unknown outcome` : ''}`
  return [...rows, '', style.bold(summary)].join('\n')
}
