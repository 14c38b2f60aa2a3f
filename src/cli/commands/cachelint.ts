import { Command, InvalidArgumentError } from 'commander'
import { lintAgent } from '../../agent/prompts/lint.ts'
import { cacheReport } from '../../core/cache/cache-report.ts'
import { type CacheBudget, type CacheFinding, defaultCacheBudget, hasHitRate, lintCacheReport } from '../../core/cache/lint.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { type AgentDefinition, defineAgent } from '../../wiring/define-agent.ts'
import { replayedKnowledge } from '../../wiring/knowledge.ts'
import { bookkeeping } from '../../wiring/models.ts'
import { skillsOption } from '../../wiring/skills.ts'
import type { CommandContext } from '../context.ts'
import { withJournal } from '../journal.ts'
import { loadAgentModule } from '../modules/agent-module.ts'
import { createLoad } from '../modules/load-module.ts'
import { wholeNumber, withExamples } from '../options.ts'
import { columns } from '../table.ts'
import { plainLine, printLine } from '../terminal.ts'

/** The command `cachelint`. It exits with 1 when it finds a text that prevents the provider from using its cache. */
export function cachelintCommand(context: CommandContext, exit: (code: number) => void): Command {
  const print = (text: string) => printLine(context.terminal, text)
  const command = new Command('cachelint')
    .description(
      'find texts of an agent, and rounds of a recorded conversation, for which the provider can not use its cache; exits with 1 if it finds any',
    )
    .argument('[conversation]')
    .option('--hit-rate <share>', 'the least share of tokens that must come from the cache', parseShare, defaultCacheBudget.hitRate)
    .option('--misses <n>', 'how many avoidable misses are allowed', wholeNumber, defaultCacheBudget.misses)
    .option('--round-parts <n>', 'how many parts a round may add to the prompt', wholeNumber, defaultCacheBudget.roundParts)
    .action(async (id: string | undefined, budget: CacheBudget) => {
      const { agent, skills } = await context.settings()
      if (id === undefined && agent === undefined) {
        command.error('error: there is nothing to check; name a conversation, or a file with an agent after --agent')
      }
      const inAgent =
        agent === undefined
          ? []
          : await lintAgent(async () => {
              const {
                skills: own,
                knowledge,
                ...definition
              } = typeof agent === 'string'
                ? await loadAgentModule(agent, context.terminal.folder, createLoad())
                : defineAgent<AgentDefinition>(agent)
              return { ...definition, builtIn: { ...skillsOption(own ?? skills), ...replayedKnowledge(knowledge), ...definition.builtIn } }
            })
      const inConversation = id === undefined ? [] : await lintConversation(context, id, budget)
      const findings = [...inAgent, ...inConversation]
      const rows = findings.map(({ rule, where, words }) => [rule, where, words].map(plainLine))
      for (const row of columns([['', '', ''], ...rows]).slice(1)) print(row)
      if (findings.length === 0) print('nothing found')
      else exit(1)
    })
  return withExamples(command, [
    ['daybook cachelint --agent ./agent.ts', ''],
    ['daybook cachelint costs --hit-rate 90%', 'a check for continuous integration'],
  ])
}

const unknownCache = 'the hit rate is not checked, because it is not known how the provider of this model caches'

function lintConversation(context: CommandContext, id: string, budget: CacheBudget): Promise<readonly CacheFinding[]> {
  return withJournal(context, id, (journal) => {
    const report = cacheReport(journal, { rulesOf: bookkeeping.rulesOf, count: roughTokens })
    if (!hasHitRate(report)) context.terminal.errors.write(`${unknownCache}\n`)
    return lintCacheReport(report, budget)
  })
}

function parseShare(text: string): number {
  const value = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text)
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('must be a share such as 0.8 or 80%')
  return value
}
