import { Command } from 'commander'
import type { Settings } from '../../config/settings.ts'
import type { ServerSettings } from '../../server/settings.ts'
import { type OpenAgent, openAgent } from '../../wiring/open-agent.ts'
import type { CommandContext, SettingsWithAgent } from '../context.ts'
import { newConversationId } from '../conversation-client.ts'
import { portNumber, withExamples } from '../options.ts'
import { printLine } from '../terminal.ts'

/** Log levels, least severe first. No message has the level `silent`, so this level turns the log off. */
const levels = ['info', 'warn', 'error', 'silent'] as const

/** How long a turn stays open after its answer, in milliseconds. A message that the user sends in this time is still read by the turn. */
const exitGraceMs = 750
/**
 * How many bytes of timelines stay in memory. A server has many conversations, and loading a timeline again for each turn would take a
 * large part of its processor time.
 */
const keptTimelineBytes = 64 * 1024 * 1024

export function serveCommand(context: CommandContext): Command {
  const command = new Command('serve')
    .description('run the agent as a server with a web page, until Ctrl-C or SIGTERM')
    .option('--host <address>', 'address to listen on; every address except a loopback address needs auth (or DAYBOOK_HOST)')
    .option('--port <n>', 'port; 0 chooses a free one (or DAYBOOK_PORT)', portNumber)
    .option('--role <role>', 'web, worker or both: accept messages, run turns, or both (or DAYBOOK_ROLE)')
    .action(async (flags: { host?: string; port?: number; role?: string }) =>
      serveUntilSignal(context, await context.settingsWithAgent(flags)),
    )
  return withExamples(command, [
    ['daybook serve', 'for this machine only, without tokens'],
    ['daybook serve --agent ./agent.ts', 'your own agent, with its web page'],
    ['daybook serve --role worker', 'runs the turns of servers with `--role web` on the same PostgreSQL database'],
    ['DAYBOOK_AUTH_SECRET=… daybook serve --host 0.0.0.0 --port 80', 'for other machines; clients need a token'],
  ])
}

/** Serves the agent of the settings until a signal ends the process. `onListening` is called when the server accepts requests. */
export async function serveUntilSignal(
  { terminal, style }: CommandContext,
  settings: SettingsWithAgent,
  onListening: (opened: OpenAgent) => void = () => {},
): Promise<void> {
  const { createLog, createMetrics, metricsHelp, observe, serve } = await import('../../server/index.ts')
  checkRole(settings)
  const metrics = createMetrics(metricsHelp)
  const now = () => new Date().toISOString()
  const logAll = createLog((line) => terminal.errors.write(line), now)
  const log: typeof logAll = (level, ...rest) => {
    if (levels.indexOf(level) >= levels.indexOf(settings.logLevel)) logAll(level, ...rest)
  }
  const opened = await openAgent(settings, {
    exitGraceMs,
    keptTimelineBytes,
    acceptOnly: settings.role === 'web',
    ...observe(metrics),
    onProblem: ({ where, error }) => log('error', where, { error }),
    watchKnowledge: true,
    onKnowledge: ({ documents, indexed, removed }) => log('info', 'knowledge', { documents, indexed, removed }),
  })
  const { agent, close } = opened
  const signal = Promise.withResolvers<void>()
  const stopListening = terminal.onSignal(() => signal.resolve())
  try {
    const server = await serve({
      agent,
      settings: await serverSettings(settings),
      log,
      metrics,
      now,
      newId: newConversationId,
      checkMachine: async () => (await import('./setup/doctor.ts')).checkMachine(settings, terminal.environment),
    })
    printLine(terminal, `daybook is at ${style.link(server.url)}`)
    const link = server.signInLink()
    if (link !== undefined) printLine(terminal, `open the page with ${style.link(link)} (works once, within an hour)`)
    const model = typeof settings.model === 'string' ? settings.model : (settings.model as { readonly name?: unknown }).name
    const data = settings.store === 'memory' ? 'in memory' : settings.databaseUrl === undefined ? settings.data : 'PostgreSQL'
    printLine(terminal, style.dim(`model ${model} · data ${data} · Ctrl-C stops the server`))
    onListening(opened)
    await signal.promise
    printLine(terminal, style.dim('finishing the running turns; press Ctrl-C again to stop at once'))
    stopListening()
    await server.drain()
  } finally {
    stopListening()
    await close()
  }
}

/**
 * Throws if a server with the role `web` or `worker` has no database. Such a server needs a database because it shares the store with other
 * servers, which may be on other machines.
 */
function checkRole({ role, store, databaseUrl }: Pick<Settings, 'role' | 'store' | 'databaseUrl'>): void {
  if (role === 'both' || (databaseUrl !== undefined && store !== 'memory')) return
  throw new RangeError(`a server with the role ${role} needs a database that other servers can use: set databaseUrl (DAYBOOK_DATABASE_URL)`)
}

async function serverSettings(settings: Omit<Settings, 'agent'>): Promise<ServerSettings> {
  const { host, port, auth, origins, userThinking, role, work, limits } = settings
  const { defaultServerSettings } = await import('../../server/settings.ts')
  const common = {
    ...defaultServerSettings,
    ...{ host, port, origins, userThinking, role, ...limits },
    ...{ workConversations: work.conversations, workPerTenant: work.perTenant, workAttempts: work.attempts, workBacklog: work.backlog },
  }
  const keys = [
    ...(auth.secret === undefined ? [] : [{ kind: 'HS256', secret: auth.secret } as const]),
    ...(auth.publicKey === undefined ? [] : [{ kind: 'EdDSA', publicKey: auth.publicKey } as const]),
    ...(auth.jwksUrl === undefined ? [] : [{ kind: 'jwks', url: auth.jwksUrl } as const]),
  ]
  const [key, ...others] = keys
  if (others.length > 0)
    throw new RangeError('tokens are verified with one key: set only one of auth.secret, auth.publicKey and auth.jwksUrl')
  if (key === undefined && (auth.issuer !== undefined || auth.audience !== undefined)) {
    throw new RangeError('auth.issuer and auth.audience need a key: set auth.secret, auth.publicKey or auth.jwksUrl')
  }
  if (key === undefined) return common
  const { issuer, audience } = auth
  return {
    ...common,
    auth: { kind: 'bearer', key, ...(issuer !== undefined && { issuer }), ...(audience !== undefined && { audience }) },
  }
}
