import { Command } from 'commander'
import type { Archive } from '../../../agent/archive/archive.ts'
import type { HeldLease } from '../../../agent/archive/overview.ts'
import { parkedList } from '../../../agent/archive/parked-list.ts'
import { openArchive } from '../../../wiring/open-agent.ts'
import type { CommandContext } from '../../context.ts'
import { allPages } from '../../conversation-client.ts'
import { withExamples } from '../../options.ts'
import { columns, plural } from '../../table.ts'
import { plainLine, printLine } from '../../terminal.ts'

/** Opens the store of the settings. The commands of this file show data of all tenants, so they do not work with a server. */
async function withArchive<T>({ settings: readSettings }: CommandContext, use: (archive: Archive) => Promise<T>): Promise<T> {
  const settings = await readSettings()
  if (settings.server !== undefined)
    throw new RangeError('this command reads the store itself: run it without --server, with the data folder or the database of the server')
  const { archive, close } = await openArchive(settings)
  try {
    return await use(archive)
  } finally {
    await close()
  }
}

/** The command `admin tenants`. */
export function tenantsCommand(context: CommandContext): Command {
  const { terminal } = context
  const command = new Command('tenants')
    .description('list the tenants with their users, conversations, open turns, waits and parked conversations')
    .option('--json', 'print them as JSON')
    .action(({ json }: { json?: true }) =>
      withArchive(context, async (archive) => {
        const tenants = await archive.tenants()
        if (json) return printLine(terminal, JSON.stringify(tenants, undefined, 2))
        if (tenants.length === 0) return printLine(terminal, 'nothing is stored')
        const rows = tenants.map(({ tenant, users, conversations, openTurns, waiting, parked, lastActivityAt }) => [
          ...[plainLine(tenant), users, conversations, openTurns, waiting, parked, lastActivityAt ?? ''],
        ])
        const heading = ['tenant', 'users', 'conversations', 'open turns', 'waiting', 'parked', 'last activity']
        for (const line of columns([heading, ...rows])) printLine(terminal, line)
      }),
    )
  return withExamples(command, [['daybook admin tenants --json', '']])
}

/** The command `admin work`. */
export function workCommand(context: CommandContext): Command {
  const { terminal, style } = context
  const command = new Command('work')
    .description('show parked conversations, waiting turns and the processes that run turns, of all tenants, and what to do about them')
    .option('--json', 'print it as JSON')
    .action(({ json }: { json?: true }) =>
      withArchive(context, async (archive) => {
        const { summary, parked, waits, leases } = await readWork(archive)
        if (json) return printLine(terminal, JSON.stringify({ summary, parked, waits, leases }, undefined, 2))
        const { waiting, longestWaitSeconds, running } = summary
        printLine(
          terminal,
          `${plural(waiting, 'conversation')} wait for a process (the longest for ${Math.round(longestWaitSeconds)} s), ${running} run`,
        )
        if (parked.length > 0)
          printLine(terminal, style.bold('parked: their turns failed too often; to try one again: daybook retry <conversation>'))
        for (const { id, at, attempts, reason } of parked)
          printLine(terminal, `  ${plainLine(id)}  since ${at}, ${plural(attempts, 'attempt')}: ${plainLine(reason)}`)
        if (waits.length > 0) printLine(terminal, style.bold('waiting: for a person or a late result; daybook approve, refuse, complete'))
        for (const { conversationId, question, kind, expiresAt } of waits)
          printLine(
            terminal,
            `  ${plainLine(conversationId)}  ${plainLine(question ?? kind)}${expiresAt === undefined ? '' : ` (until ${expiresAt})`}`,
          )
        if (leases.length > 0) printLine(terminal, style.bold('leases: processes that run a turn'))
        for (const lease of leases) printLine(terminal, `  ${describeLease(lease)}`)
      }),
    )
  return withExamples(command, [['daybook admin work --json', '']])
}

async function readWork(archive: Archive) {
  return {
    summary: await archive.work.summary(),
    parked: await allPages(async (cursor) => {
      const { parked, next } = await parkedList(archive, cursor)
      return { items: parked, next }
    }),
    waits: await allPages(async (cursor) => {
      const { waits, next } = await archive.waiting(cursor === undefined ? {} : { cursor })
      const items = waits.map(({ conversationId, turnId, kind, question, callId, expiresAt }) => ({
        ...{ conversationId, turnId, kind },
        ...(question !== undefined && { question }),
        ...(callId !== undefined && { callId }),
        ...(expiresAt !== undefined && { expiresAt }),
      }))
      return { items, next }
    }),
    leases: await archive.leases(),
  }
}

/** After this many seconds without a new entry, a turn may hang, because model calls and programs usually end sooner. */
const LONG_SECONDS = 600

function describeLease({ conversationId, owner, idleSeconds }: HeldLease): string {
  const who = `process ${owner.pid} on ${plainLine(owner.host)}`
  const advice =
    idleSeconds < LONG_SECONDS
      ? ''
      : `: stop the turn or end the process; if neither works: daybook admin release ${conversationId} --force`
  return `${plainLine(conversationId)}  ${who}, no entry for ${idleSeconds} s${plainLine(advice)}`
}

/** The command `admin release`. */
export function releaseCommand(context: CommandContext): Command {
  const { terminal } = context
  const command = new Command('release')
    .description('end the lease of a conversation, so that another process can continue its turn')
    .argument('<conversation>', 'as daybook admin work shows it, with tenant, project and user')
    .option('--force', 'end the lease even if its process may be alive; the next step of that process then fails')
    .action((conversation: string, { force = false }: { force?: boolean }) =>
      withArchive(context, async (archive) => {
        const released = await archive.releaseLease(conversation, { force })
        const text = released ? 'the lease has ended: a server can continue the turn' : 'no process has a lease: nothing to release'
        printLine(terminal, `${plainLine(conversation)}: ${text}`)
      }),
    )
  return withExamples(command, [['daybook admin release acme/web/ann/c1 --force', '']])
}
