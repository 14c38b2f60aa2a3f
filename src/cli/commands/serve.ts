import { randomBytes } from 'node:crypto'
import { Command } from 'commander'
import type { Settings } from '../../config.ts'
import type { ServerSettings } from '../../server/settings.ts'
import { openAgent } from '../../wiring.ts'
import type { CommandContext } from '../context.ts'
import { portNumber, withExamples } from '../options.ts'
import { printLine } from '../terminal.ts'

const levels = ['info', 'warn', 'error', 'silent'] as const
const exitGraceMs = 750 // somebody may still be typing

export function serveCommand(context: CommandContext): Command {
  const command = new Command('serve')
    .description('the agent as a server, with a page to look at it; ends in order when it is asked to')
    .option('--host <address>', 'where to listen; other than this machine needs auth (or DAYBOOK_HOST)')
    .option('--port <n>', '0 takes any that is free (or DAYBOOK_PORT)', portNumber)
    .action(async (flags: { host?: string; port?: number }) => serveUntilSignal(context, await context.settings(flags)))
  return withExamples(command, [
    ['daybook serve', 'on this machine, without tokens'],
    ['DAYBOOK_AUTH_SECRET=… daybook serve --host 0.0.0.0 --port 80', 'for others, who bring a token'],
  ])
}

async function serveUntilSignal({ terminal, style }: CommandContext, settings: Settings): Promise<void> {
  const { createLog, createMetrics, metricsHelp, observe, serve } = await import('../../server/index.ts')
  const metrics = createMetrics(metricsHelp)
  const now = () => new Date().toISOString()
  const everything = createLog((line) => terminal.errors.write(line), now)
  const log: typeof everything = (level, ...rest) => {
    if (levels.indexOf(level) >= levels.indexOf(settings.logLevel)) everything(level, ...rest)
  }
  const { agent, close } = await openAgent(settings, {
    exitGraceMs,
    ...observe(metrics),
    onProblem: ({ where, error }) => log('error', where, { error }),
  })
  const asked = Promise.withResolvers<void>()
  const forget = terminal.onSignal(() => asked.resolve())
  try {
    const server = await serve({
      agent,
      settings: await serverSettings(settings),
      log,
      metrics,
      now,
      newId: () => `c_${randomBytes(6).toString('hex')}`,
    })
    printLine(terminal, `daybook is at ${style.link(server.url)}`)
    const model = typeof settings.model === 'string' ? settings.model : (settings.model as { readonly name?: unknown }).name
    printLine(terminal, style.dim(`model ${model} · data ${settings.data} · Ctrl-C ends it`))
    await asked.promise
    printLine(terminal, style.dim('finishing what is running; asked again, it ends at once'))
    forget()
    await server.drain()
  } finally {
    forget()
    await close()
  }
}

async function serverSettings({ host, port, auth }: Settings): Promise<ServerSettings> {
  const { defaultServerSettings } = await import('../../server/settings.ts')
  const keys = [
    ...(auth.secret === undefined ? [] : [{ kind: 'HS256', secret: auth.secret } as const]),
    ...(auth.publicKey === undefined ? [] : [{ kind: 'EdDSA', publicKey: auth.publicKey } as const]),
    ...(auth.jwksUrl === undefined ? [] : [{ kind: 'jwks', url: auth.jwksUrl } as const]),
  ]
  const [key, ...others] = keys
  if (others.length > 0)
    throw new RangeError('tokens are checked with one key: set auth.secret, auth.publicKey or auth.jwksUrl, not several')
  if (key === undefined && (auth.issuer !== undefined || auth.audience !== undefined)) {
    throw new RangeError('auth.issuer and auth.audience say nothing without a key: set auth.secret, auth.publicKey or auth.jwksUrl')
  }
  if (key === undefined) return { ...defaultServerSettings, host, port }
  const { issuer, audience } = auth
  return {
    ...defaultServerSettings,
    host,
    port,
    auth: { kind: 'bearer', key, ...(issuer !== undefined && { issuer }), ...(audience !== undefined && { audience }) },
  }
}
