import { Command } from 'commander'
import { divergenceText } from '../../agent/replay/divergence.ts'
import type { Replayed } from '../../agent/replay/replay.ts'
import { replay } from '../../wiring/agent.ts'
import { openRenderer } from '../../wiring/documents.ts'
import { replayedKnowledge } from '../../wiring/knowledge.ts'
import { replayedMemory } from '../../wiring/memory.ts'
import { openSandbox } from '../../wiring/sandbox.ts'
import { skillsOption } from '../../wiring/skills.ts'
import type { CommandContext, SettingsWithAgent } from '../context.ts'
import { withJournal } from '../journal.ts'
import { withExamples } from '../options.ts'
import { columns, plural } from '../table.ts'
import { plainLine, printLine, type Style } from '../terminal.ts'

/** The command `replay`. It exits with 1 when a replayed turn differs from the recorded one. */
export function replayCommand(context: CommandContext, exit: (code: number) => void): Command {
  const { terminal, style } = context
  const command = new Command('replay')
    .description('run the current code against the recorded replies of models and tools, and show the first difference')
    .argument('<conversation>')
    .argument('[turn]', 'only this turn')
    .option('--any-system', 'do not compare the system text')
    .action((id: string, turn: string | undefined, options: { anySystem?: true }) =>
      withJournal(context, id, async (_journal, store) => {
        const { agent, ...settings } = await context.settingsWithAgent()
        const parts = { ...(await presentParts(settings, agent)), ...(options.anySystem && { anySystem: true as const }) }
        const turns = await replay(store, id, parts, turn)
        printLine(terminal, replayTable(turns, style))
        if (agent === undefined && turns.some(differsInTexts)) printLine(terminal, otherAgentHint)
        if (turns.some(({ divergence }) => divergence)) exit(1)
      }),
    )
  return withExamples(command, [['daybook replay costs --agent ./agent.ts', '']])
}

/** The parts of the current agent that a replay needs. No server, database or folder of documents is opened. */
export async function presentParts(settings: Omit<SettingsWithAgent, 'agent'>, agent: SettingsWithAgent['agent']) {
  // no program runs in a replay. The sandbox is needed because the system text lists the exec tools
  const sandbox = await openSandbox(settings)
  const builtIn = {
    ...replayedMemory(settings),
    ...skillsOption(settings.skills),
    ...replayedKnowledge(settings.knowledge),
    rendering: openRenderer(settings),
    ...agent?.builtIn,
  }
  const { skills: _skills, knowledge: _knowledge, ...definition } = agent ?? {}
  return { ...(sandbox && { sandbox }), ...definition, builtIn }
}

/** A table with a line for each turn, and a summary. The line below a turn shows its first difference. */
export function replayTable(turns: readonly Replayed[], style: Style): string {
  if (turns.length === 0) return 'there is no turn yet'
  const lines = columns([
    ['', '', ''],
    ...turns.map((turn) => [plainLine(turn.turnId), plural(turn.rounds, 'round'), verdictOf(turn)]),
  ]).slice(1)
  const verdicts = turns.flatMap(({ divergence }, index) => [
    lines[index] ?? '',
    ...(divergence ? [style.failure(`    ✗ ${plainLine(divergenceText(divergence))}`)] : []),
  ])
  return [...verdicts, '', summary(turns, style)].join('\n')
}

const verdictOf = ({ torn, divergence }: Replayed) =>
  torn ? 'not replayed: it was imported, or a part of its history was deleted' : divergence ? 'not the same' : 'the same'

function summary(turns: readonly Replayed[], style: Style): string {
  const replayed = turns.filter(({ torn }) => !torn)
  const different = replayed.filter(({ divergence }) => divergence).length
  if (replayed.length === 0) return 'nothing could be replayed'
  if (different > 0) return style.bold(`${different} of ${plural(replayed.length, 'turn')} would not be the same`)
  const rounds = replayed.reduce((sum, turn) => sum + turn.rounds, 0)
  return style.success(`${plural(replayed.length, 'turn')}, ${plural(rounds, 'round')}: the current code does the same`)
}

/** Whether the replay differs in the tools or the system text. If so, the conversation was probably recorded with another agent module. */
const differsInTexts = ({ divergence }: Replayed): boolean =>
  divergence?.kind === 'prompt' && (divergence.where === 'tools' || divergence.where === 'system text')

const otherAgentHint =
  'give the agent that recorded it with --agent and its skills with --skills, or ignore its texts and tools with --any-system'
