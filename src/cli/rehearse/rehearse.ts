import { Command, InvalidArgumentError } from 'commander'
import { divergenceText } from '../../agent/replay/divergence.ts'
import { type RehearsedConversation, type RehearsedStore, rehearse } from '../../agent/replay/rehearse.ts'
import type { ReplayParts } from '../../agent/replay/setup.ts'
import { BILLION, totalOf } from '../../core/cost/price.ts'
import { bookkeeping } from '../../wiring/models.ts'
import { openStoreToRead } from '../../wiring/storage.ts'
import { presentParts } from '../commands/replay.ts'
import type { CommandContext } from '../context.ts'
import { withExamples } from '../options.ts'
import { formatNumber, plural } from '../table.ts'
import { plainLine, printLine, type Style, type Terminal } from '../terminal.ts'

interface RehearseOptions {
  readonly open?: true
  readonly anySystem?: true
  readonly at?: string
  readonly json?: true
}

/** The command `rehearse`. It exits with 1 when a conversation would be affected. */
export function rehearseCommand(context: CommandContext, exit: (code: number) => void): Command {
  const { terminal, style } = context
  const command = new Command('rehearse')
    .description('run the current agent against all stored conversations, without a model, and list those that it would affect')
    .option('--open', 'only conversations with an open turn')
    .option('--any-system', 'do not compare the system text and the list of tools')
    .option(
      '--at <time>',
      'the time of the deployment, such as 2026-05-01T12:00:00Z (default: the latest activity in the store)',
      parseTime,
    )
    .option('--json', 'print one JSON line per affected conversation, the sums last; money is in billionths of a dollar')
    .action(async ({ open, anySystem, at, json }: RehearseOptions) => {
      const { agent, ...settings } = await context.settingsWithAgent()
      if (settings.server !== undefined) {
        throw new RangeError('this command reads the journals itself: run it on the machine that has the data, without --server')
      }
      const parts = { ...(await presentParts(settings, agent)), ...(anySystem && { anySystem }) }
      const store = await openStoreToRead(settings)
      try {
        const rehearsal = await rehearseAll(store, parts, { at, open }, terminal)
        const print = (line: string) => printLine(terminal, line)
        for (const conversation of rehearsal.affected) {
          if (json) print(JSON.stringify({ type: 'conversation', ...conversation }))
          else for (const line of linesOf(conversation, style)) print(line)
        }
        const { affected: _listed, ...sums } = rehearsal
        if (json) print(JSON.stringify({ type: 'sums', ...sums }))
        else for (const line of summaryOf(rehearsal, style)) print(line)
        if (rehearsal.affected.some(isAffected)) exit(1)
      } finally {
        await store.close()
      }
    })
  return withExamples(command, [
    ['daybook rehearse --agent ./agent.ts', 'before a deployment, against the data folder'],
    ['daybook rehearse --agent ./agent.ts --open --json', 'a check for continuous integration'],
  ])
}

/** A conversation with a finding. `lostMoney` is the price of its lost cache in billionths of a dollar, or undefined if it is not known. */
type AffectedConversation = RehearsedConversation & { readonly warm: boolean; readonly lostMoney?: number }

interface Rehearsal {
  readonly conversations: number
  readonly unchecked: number
  readonly otherPrompts: number
  readonly unfitWaits: number
  readonly divergences: number
  /** How many cached tokens are lost, in conversations whose cache has not expired at the time `at`. */
  readonly lostTokens: number
  readonly lostMoney: number
  readonly unpriced: number
  readonly at: string
  readonly affected: readonly AffectedConversation[]
}

const isAffected = ({ prompt, divergence, unfitWaits }: RehearsedConversation): boolean =>
  prompt.length > 0 || divergence !== undefined || unfitWaits.length > 0

async function rehearseAll(
  store: RehearsedStore,
  parts: ReplayParts,
  { at: given, open }: { readonly at: string | undefined; readonly open: true | undefined },
  { errors }: Terminal,
): Promise<Rehearsal> {
  const at = given ?? (await store.list({ limit: 1 })).conversations[0]?.lastActivityAt ?? new Date(0).toISOString()
  const affected: AffectedConversation[] = []
  let conversations = 0
  for await (const conversation of rehearse(store, parts, open ? { open } : {})) {
    conversations++
    if (errors.isTTY && conversations % 20 === 0) errors.write(`\r${formatNumber(conversations)} conversations …`)
    if (isAffected(conversation) || conversation.unchecked !== undefined) affected.push(withPrice(conversation, at))
  }
  if (errors.isTTY) errors.write('\r\x1b[K')
  const warm = affected.filter((conversation) => conversation.warm)
  return {
    conversations,
    unchecked: affected.filter(({ unchecked }) => unchecked !== undefined).length,
    otherPrompts: affected.filter(({ prompt }) => prompt.length > 0).length,
    unfitWaits: affected.reduce((sum, { unfitWaits }) => sum + unfitWaits.length, 0),
    divergences: affected.filter(({ divergence }) => divergence !== undefined).length,
    lostTokens: warm.reduce((sum, { lost }) => sum + (lost?.tokens ?? 0), 0),
    lostMoney: warm.reduce((sum, { lostMoney }) => sum + (lostMoney ?? 0), 0),
    unpriced: warm.filter(({ lostMoney }) => lostMoney === undefined).length,
    at,
    affected,
  }
}

/**
 * Adds the price of the lost cache. With the agent from before, the tokens would have been read from the cache. With the current agent,
 * they are sent again and, if the provider uses marks, written to the cache again.
 */
function withPrice(conversation: RehearsedConversation, at: string): AffectedConversation {
  const { lost } = conversation
  if (!lost) return { ...conversation, warm: false }
  const { tokens, model, askedAt, ttlSeconds } = lost
  const rules = bookkeeping.rulesOf(model)
  const ttl = ttlSeconds ?? rules?.ttlSeconds
  const warm = ttl === undefined || Date.parse(askedAt) + ttl * 1000 >= Date.parse(at)
  const none = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
  const now = bookkeeping.chargeOf({ ...none, [rules?.kind === 'marks' ? 'cacheWrite' : 'uncached']: tokens }, model, at)
  const cached = bookkeeping.chargeOf({ ...none, cacheRead: tokens }, model, at)
  return { ...conversation, warm, ...(now && cached && { lostMoney: totalOf(now) - totalOf(cached) }) }
}

function linesOf(conversation: AffectedConversation, style: Style): readonly string[] {
  const { conversationId, open, warm, prompt, divergence, unfitWaits, unchecked, lost } = conversation
  const tokens = lost && warm ? `, ${formatNumber(lost.tokens)} cached tokens lost` : ''
  return [
    `${style.bold(plainLine(conversationId))}${open ? ' (open turn)' : ''}${tokens}`,
    ...(unchecked === undefined ? [] : [`    not checked: ${unchecked}`]),
    ...prompt.map((difference) => style.failure(`    next prompt: ${plainLine(divergenceText(difference))}`)),
    ...(divergence ? [style.failure(`    last turn: ${plainLine(divergenceText(divergence))}`)] : []),
    ...unfitWaits.map(({ callId, toolId, problem }) =>
      style.failure(
        `    call ${callId} of ${plainLine(toolId)} waits for an approval, but the current agent can not run it: ${plainLine(problem)}`,
      ),
    ),
  ]
}

function summaryOf(
  { conversations, unchecked, otherPrompts, unfitWaits, divergences, ...sums }: Rehearsal,
  style: Style,
): readonly string[] {
  const checked = plural(conversations - unchecked, 'conversation')
  if (otherPrompts + unfitWaits + divergences === 0) return [style.success(`${checked}: nothing changes`)]
  const money = `${sums.unpriced > 0 ? '≥ ' : ''}$${(sums.lostMoney / BILLION).toFixed(6)}`
  return [
    '',
    style.bold(`${checked} checked`),
    `${plural(otherPrompts, 'next prompt has', 'next prompts have')} other bytes than before: ${formatNumber(sums.lostTokens)} cached tokens lost at ${sums.at}, ${money}`,
    `${plural(divergences, 'last turn')} would differ`,
    `${plural(unfitWaits, 'call that waits for an approval', 'calls that wait for an approval')} can not be run by the current agent`,
  ]
}

function parseTime(text: string): string {
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new InvalidArgumentError('must be a time such as 2026-05-01T12:00:00Z')
  return new Date(time).toISOString()
}
