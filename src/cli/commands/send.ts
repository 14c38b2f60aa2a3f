import { randomBytes } from 'node:crypto'
import { Command } from 'commander'
import { type Client, createClient } from '../../client/client.ts'
import type { Settings } from '../../config/settings.ts'
import { errorMessage } from '../../core/failure.ts'
import { openStore } from '../../wiring/store.ts'
import type { CommandContext } from '../context.ts'
import { withExamples } from '../options.ts'
import { openSession, type Session } from '../session.ts'
import { printLine } from '../terminal.ts'

/** The command `send`. It stores a message and ends, so it runs no turn. */
export function sendCommand({ terminal, settings }: CommandContext): Command {
  const command = new Command('send')
    .description('store a message and return; the process that runs the conversation answers it')
    .argument('<conversation>')
    .argument('<message>')
    .action(async (id: string, text: string) => {
      if (text.trim() === '') command.error('error: the message is empty')
      printLine(terminal, await send(await settings(), id, text))
    })
  return withExamples(command, [['daybook send costs "And please add the totals."', 'to follow the answer: daybook run or daybook chat']])
}

async function send(settings: Settings, id: string, text: string): Promise<string> {
  const client = serverClient(settings)
  if (client) {
    await client.send(id, text)
    return `sent to ${id}`
  }
  const store = await openStore(settings)
  try {
    await store.offer(id, { event_id: randomBytes(6).toString('hex'), kind: 'followup', ts: new Date().toISOString(), text })
    return `stored for ${id}: the process that runs the conversation will answer, or a server, or the next daybook run or chat with this conversation`
  } finally {
    await store.close()
  }
}

/** The command `steer`. Its exit code is 1 when no turn is running. */
export function steerCommand(context: CommandContext, exit: (code: number) => void): Command {
  const command = new Command('steer')
    .description('interrupt the running turn and give it a new direction; the turn may run in another process')
    .argument('<conversation>')
    .argument('<text>')
    .action(async (id: string, text: string) => {
      if (text.trim() === '') command.error('error: the text is empty; to stop the turn, use daybook stop')
      const settings = await context.settings()
      const client = serverClient(settings)
      const steered = client
        ? (await client.send(id, text, { mode: 'steer' })).status === 'steer_accepted'
        : await withLocalTurn(context, settings, id, (conversation) => conversation.steer(text))
      // a server treats a steer that comes too late as a message
      const late = client ? `no turn was running in ${id}: the text was sent as a message` : noTurn(id)
      exit(report(context, steered, `steered ${id}`, late))
    })
  return withExamples(command, [['daybook steer costs "Only the first quarter, please."', '']])
}

/** The command `stop`. Its exit code is 1 when no turn is running. */
export function stopCommand(context: CommandContext, exit: (code: number) => void): Command {
  const command = new Command('stop')
    .description('stop the running turn; its results so far are kept; the turn may run in another process')
    .argument('<conversation>')
    .action(async (id: string) => {
      const settings = await context.settings()
      const client = serverClient(settings)
      const stopped = client
        ? (await client.stop(id)).stopped
        : await withLocalTurn(context, settings, id, (conversation) => conversation.stop())
      exit(report(context, stopped, `stopped ${id}`, noTurn(id)))
    })
  return withExamples(command, [['daybook stop costs', '']])
}

const noTurn = (id: string) => `no turn is running in ${id}`

const serverClient = ({ server, token }: Settings): Client | undefined =>
  server === undefined ? undefined : createClient({ baseUrl: server, ...(token !== undefined && { token }) })

/**
 * Calls `send` with a conversation of the data folder. The turn runs in another process, because this process has just started and runs no
 * turns.
 */
async function withLocalTurn(
  { terminal }: CommandContext,
  settings: Settings,
  id: string,
  send: (conversation: Session['conversation']) => Promise<boolean>,
): Promise<boolean> {
  const onProblem = (where: string, error: unknown) => terminal.errors.write(`${where}: ${errorMessage(error)}\n`)
  const { agent: _agent, ...withoutAgent } = settings // not needed, because no turn runs in this process
  const session = await openSession(withoutAgent, { conversation: id, onProblem })
  try {
    return await send(session.conversation)
  } finally {
    await session.close()
  }
}

function report({ terminal }: CommandContext, reached: boolean, done: string, late: string): number {
  if (reached) printLine(terminal, done)
  else terminal.errors.write(`${late}\n`)
  return reached ? 0 : 1
}
