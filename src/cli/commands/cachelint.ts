import { Command, InvalidArgumentError } from 'commander'
import { lintAgent } from '../../agent/prompts/lint.ts'
import { replay } from '../../agent/replay/replay.ts'
import type { Settings } from '../../config.ts'
import { cacheReport } from '../../core/cache/cache-report.ts'
import { type CacheBudget, type CacheFinding, defaultCacheBudget, lintCacheReport } from '../../core/cache/lint.ts'
import type { JournalEntry } from '../../core/cache/recorded-calls.ts'
import { costReport } from '../../core/cost/cost.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { Failure } from '../../core/failure.ts'
import { blocksOfChange } from '../../core/timeline/change.ts'
import { bookkeeping, loadAgentModule, openStore } from '../../wiring.ts'
import type { CommandContext } from '../context.ts'
import { withExamples } from '../options.ts'
import { columns } from '../table.ts'
import type { Style } from '../terminal.ts'
import { plainLine, printLine, type Terminal } from '../terminal.ts'
import { cacheTable } from './cache.ts'
import { costTable } from './cost.ts'
import { differsInTexts, otherAgentHint, replayTable } from './replay.ts'

type Store = Awaited<ReturnType<typeof openStore>>

/** What was sent, what it cost, whether it would be done again: for whoever debugs an agent. What is found to be wrong makes the command exit with 1. */
export function ledgerCommands(context: CommandContext, exit: (code: number) => void): readonly Command[] {
  const { terminal, style } = context
  const print = (text: string) => printLine(terminal, text)
  const fail = () => exit(1)
  const withJournal = async <T>(id: string, use: (journal: readonly JournalEntry[], store: Store) => T | Promise<T>): Promise<T> => {
    const store = await openStore(await localSettings(context))
    try {
      return await use(await readJournal(store, id, terminal), store)
    } finally {
      await store.close()
    }
  }
  const ledgerOf = (journal: readonly JournalEntry[]) => cacheReport(journal, { rulesOf: bookkeeping.rulesOf, count: roughTokens })

  const cache = new Command('cache')
    .description('what each call read from the provider’s cache, what it should have, and why it did not')
    .argument('<conversation>')
    .option('--json', 'as data')
    .action((id: string, { json }: { json?: true }) =>
      withJournal(id, (journal) => print(json ? toJson(ledgerOf(journal)) : cacheTable(ledgerOf(journal), style))),
    )

  const cost = new Command('cost')
    .description('what a conversation has cost, by turn, role, model and block')
    .argument('<conversation>')
    .option('--json', 'as data, in billionths of a dollar')
    .action((id: string, { json }: { json?: true }) =>
      withJournal(id, (journal) => {
        const ledger = costReport(journal, { chargeOf: bookkeeping.chargeOf, count: roughTokens })
        const blocks = new Map(journal.flatMap(({ change }) => blocksOfChange(change).map((block) => [block.id, block] as const)))
        print(json ? toJson(ledger) : costTable(ledger, blocks, style))
      }),
    )

  withExamples(cache, [['daybook cache costs', '']])
  withExamples(cost, [['daybook cost costs --json | jq .total', '']])
  return [cache, cost, replayCommand(withJournal, print, style, fail), lintCommand(withJournal, ledgerOf, print, fail)]
}

type WithJournal = <T>(id: string, use: (journal: readonly JournalEntry[], store: Store) => T | Promise<T>) => Promise<T>

function replayCommand(withJournal: WithJournal, print: (text: string) => void, style: Style, fail: () => void): Command {
  const command = new Command('replay')
    .description('runs the present code against what models and tools said, and names the first difference')
    .argument('<conversation>')
    .argument('[turn]', 'only this one')
    .option('--agent <file>', 'a module that exports `agent`: tools, instructions, settings')
    .option('--any-system', 'do not compare the system text')
    .action((id: string, turn: string | undefined, options: { agent?: string; anySystem?: true }) =>
      withJournal(id, async (_journal, store) => {
        const parts = options.agent === undefined ? {} : await loadAgentModule(options.agent)()
        const turns = await replay(store, id, { ...parts, ...(options.anySystem && { anySystem: true }) }, turn)
        print(replayTable(turns, style))
        if (options.agent === undefined && turns.some(differsInTexts)) print(otherAgentHint)
        if (turns.some(({ divergence }) => divergence)) fail()
      }),
    )
  return withExamples(command, [['daybook replay costs --agent ./agent.ts', '']])
}

function lintCommand(
  withJournal: WithJournal,
  ledgerOf: (journal: readonly JournalEntry[]) => Parameters<typeof lintCacheReport>[0],
  print: (text: string) => void,
  fail: () => void,
): Command {
  const command = new Command('cachelint')
    .description('looks for what costs the cache: in an agent’s texts, in a recorded conversation; exits with 1 when it finds something')
    .argument('[conversation]')
    .option('--agent <file>', 'a module that exports `agent`: tools, instructions, customisation')
    .option('--hit-rate <share>', 'the least that must be read from the cache', parseShare, defaultCacheBudget.hitRate)
    .option('--misses <n>', 'avoidable misses that are allowed', parseCount, defaultCacheBudget.misses)
    .option('--round-parts <n>', 'parts that a round may add', parseCount, defaultCacheBudget.roundParts)
    .action(async (id: string | undefined, { agent, ...budget }: CacheBudget & { agent?: string }) => {
      const ofAgent = await lintAgent(agent === undefined ? () => ({}) : loadAgentModule(agent))
      const ofConversation = id === undefined ? [] : await withJournal(id, (journal) => lintCacheReport(ledgerOf(journal), budget))
      const findings: readonly CacheFinding[] = [...ofAgent, ...ofConversation]
      const rows = findings.map(({ rule, where, words }) => [rule, where, words].map(plainLine))
      for (const row of columns([['', '', ''], ...rows]).slice(1)) print(row)
      if (findings.length === 0) print('nothing found')
      else fail()
    })
  return withExamples(command, [['daybook cachelint costs --hit-rate 90%', 'for a check that runs with every change']])
}

/** Ledgers are kept where the journal is. */
async function localSettings(context: CommandContext): Promise<Settings> {
  const settings = await context.settings()
  if (settings.server === undefined) return settings
  throw new RangeError('this looks into the journal itself: run it where the data is, without --server')
}

async function readJournal(store: Store, id: string, { errors }: Terminal): Promise<readonly JournalEntry[]> {
  if (!(await store.loadVisible(id))) throw new Failure('conversation.missing', `there is no conversation ${id}`)
  const journal: JournalEntry[] = []
  for await (const entry of store.readJournal(id, { after: 0 })) journal.push(entry)
  if (journal.some(({ seq }, index) => seq !== index + 1)) errors.write('some of its history was let go: what is missing is not counted\n')
  return journal
}

const toJson = (value: unknown) =>
  JSON.stringify(value, (_key, held: unknown) => (held instanceof Map ? Object.fromEntries(held) : held), 1)

function parseShare(text: string): number {
  const value = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text)
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('must be a share such as 0.8 or 80%')
  return value
}

function parseCount(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError('must be a whole number')
  return value
}
