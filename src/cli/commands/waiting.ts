import { Command } from 'commander'
import type { CompletionBody, DecisionBody, RecordedView, WaitView } from '../../core/api/waiting.ts'
import { errorMessage } from '../../core/failure.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { pausesTurn } from '../../core/timeline/waits.ts'
import type { CommandContext } from '../context.ts'
import { conversationNameOrKey, withExamples } from '../options.ts'
import { openSession, type Session } from '../session.ts'
import { plainLine, printLine, styleFor } from '../terminal.ts'
import { createTurnPrinter } from '../turn-printer.ts'

const CONVERSATION = 'the conversation; without --server, it may belong to another user: name it as daybook admin work shows it'

/** The command `waiting`. It lists what turns wait for. */
export function waitingCommand({ terminal, style, withConversations }: CommandContext): Command {
  const command = new Command('waiting')
    .description('list what turns wait for, such as the approval of a call')
    .argument('[conversation]', 'only this conversation', conversationNameOrKey)
    .action((conversation?: string) =>
      withConversations(async (client) => {
        const waits = await client.waiting(conversation)
        if (waits.length === 0) printLine(terminal, 'nothing waits')
        for (const wait of waits) {
          printLine(terminal, `${wait.conversation_id}  ${style.bold(wait.call_id ?? wait.wait_id)}  ${plainLine(describeWait(wait))}`)
          if (wait.params) printLine(terminal, style.dim(`    ${plainLine(JSON.stringify(wait.params))}`))
        }
      }),
    )
  return withExamples(command, [['daybook waiting', '']])
}

function describeWait({ kind, question, expires_at, approver }: WaitView): string {
  const until = expires_at === undefined ? '' : ` (until ${expires_at})`
  const who = approver === undefined ? '' : ' (an operator must decide)'
  return `${question ?? kind}${until}${who}`
}

/** The command `approve`. It approves a call, and prints the rest of the turn. */
export function approveCommand(context: CommandContext, exit: (code: number) => void): Command {
  const command = new Command('approve')
    .description('approve a call that waits, and print the rest of its turn')
    .argument('<conversation>', CONVERSATION, conversationNameOrKey)
    .argument('[call]', 'the call; not needed if only one call waits')
    .option('--note <text>', 'a text for the model, if you change the parameters')
    .option('--params <json>', 'run the tool with these parameters instead')
    .action(async (conversation: string, call: string | undefined, options: { note?: string; params?: string }) => {
      const decision = {
        approved: true,
        ...(options.note !== undefined && { note: options.note }),
        ...editedParams(command, options.params),
      }
      exit(await settle(context, conversation, call, (session, id, of) => session.conversation.decide(id, decision, of)))
    })
  return withExamples(command, [
    ['daybook approve c_1a2b3c', ''],
    [`daybook approve c_1a2b3c 5d6e7f --params '{"to":"ann@example.org"}'`, ''],
    [`daybook approve acme/web/ann/c1 --params '{"tokens":100000}'`, 'a turn of another user waits for a larger budget'],
  ])
}

function editedParams(command: Command, given: string | undefined): Pick<DecisionBody, 'params'> {
  if (given === undefined) return {}
  const params = parseJson(given)
  if (!isObject(params)) command.error('error: --params must be a JSON object, such as {"to":"ann"}')
  return { params: params as NonNullable<DecisionBody['params']> } // the value was parsed from JSON
}

/** The command `refuse`. It refuses a call, and prints the rest of the turn. */
export function refuseCommand(context: CommandContext, exit: (code: number) => void): Command {
  const command = new Command('refuse')
    .description('refuse a call that waits, and print the rest of its turn')
    .argument('<conversation>', CONVERSATION, conversationNameOrKey)
    .argument('[call]', 'the call; not needed if only one call waits')
    .option('--note <text>', 'the reason; the model reads it')
    .action(async (conversation: string, call: string | undefined, { note }: { note?: string }) => {
      const decision = { approved: false, ...(note !== undefined && { note }) }
      exit(await settle(context, conversation, call, (session, id, of) => session.conversation.decide(id, decision, of)))
    })
  return withExamples(command, [['daybook refuse c_1a2b3c --note "Ask me on Monday."', '']])
}

/** The command `complete`. It delivers the late result of a call, and prints the rest of the turn. */
export function completeCommand(context: CommandContext, exit: (code: number) => void): Command {
  const command = new Command('complete')
    .description('deliver the late result of a call, and print the rest of its turn')
    .argument('<conversation>', CONVERSATION, conversationNameOrKey)
    .argument('<result>', 'the result: JSON, or any text')
    .option('--call <id>', 'the call; not needed if only one call waits')
    .option('--failed <code>', 'report that the call failed with this code; <result> is then the error message')
    .action(async (conversation: string, result: string, { call, failed }: { call?: string; failed?: string }) => {
      // any text and any JSON value is a valid output
      const output = (parseJson(result) ?? result) as Extract<CompletionBody, { ok: true }>['output']
      const completion: CompletionBody =
        failed === undefined ? { ok: true, output } : { ok: false, error: { code: failed, message: result } }
      exit(await settle(context, conversation, call, (session, id, of) => session.conversation.complete(id, completion, of)))
    })
  return withExamples(command, [[`daybook complete c_1a2b3c '{"pages":12}'`, '']])
}

/** Settles a call that waits, and prints the rest of its turn. The exit code is 3 if the turn waits again. */
async function settle(
  context: CommandContext,
  conversation: string,
  given: string | undefined,
  act: (session: Session, callId: string, of: string | undefined) => Promise<RecordedView['status']>,
): Promise<number> {
  const { terminal } = context
  const onProblem = (where: string, error: unknown) => terminal.errors.write(`${where}: ${errorMessage(error)}\n`)
  const settings = await context.settingsWithAgent()
  if (settings.server !== undefined && conversation.includes('/'))
    throw new RangeError(
      'a server knows only the conversations of the user of the token: give the name alone, or run the command without --server',
    )
  const session = await openSession(settings, { conversation, onProblem })
  const abort = new AbortController()
  try {
    const waits = await session.conversations.waiting(conversation)
    const callId = given ?? onlyCall(waits)
    // the call of a sub-agent is in the conversation of the sub-agent
    const of = waits.find((wait) => replyKey(wait) === callId)?.conversation_id
    const events = session.conversation.follow(await session.conversation.lastSeq(), abort.signal)
    const status = await act(session, callId, of)
    if (status === 'known') {
      printLine(terminal, `call ${callId} was settled before: nothing has changed`)
      return 0
    }
    const { output, errors, environment } = terminal
    const write = (text: string) => void errors.write(text)
    const printer = createTurnPrinter(
      { answer: (text) => void output.write(text), progress: write, failures: write },
      styleFor(errors, environment),
    )
    for await (const event of events) {
      printer.print(event)
      if (event.type === 'entry' && pausesTurn(event.change)) return event.change.type === 'turn.waiting' ? WAITING_EXIT_CODE : 0
    }
    return 0
  } finally {
    abort.abort()
    await session.close()
  }
}

/** The exit code of a command whose turn waits. */
export const WAITING_EXIT_CODE = 3

/** The id that a reply to a wait names: the id of the call. The wait for a larger budget belongs to no call, so its own id is used. */
const replyKey = ({ kind, call_id, wait_id }: WaitView): string | undefined => (kind === 'budget' ? wait_id : call_id)

function onlyCall(waits: readonly WaitView[]): string {
  // a wait for a sub-agent is left out: the call that waits in the sub-agent is also in `waits`
  const calls = waits.flatMap((wait) => (wait.kind === 'child' ? [] : (replyKey(wait) ?? [])))
  const [only] = calls
  if (only === undefined) throw new RangeError('no call waits in this conversation; daybook waiting lists all calls that wait')
  if (calls.length > 1) throw new RangeError(`several calls wait: name one of ${calls.join(', ')}`)
  return only
}
