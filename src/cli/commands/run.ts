import { Command, CommanderError } from 'commander'
import { type ConversationView, emptyView, type TurnView } from '../../client/view/conversation-view.ts'
import { foldEvent } from '../../client/view/fold-event.ts'
import type { TurnEvent } from '../../core/event.ts'
import { errorMessage } from '../../core/failure.ts'
import { pausesTurn } from '../../core/timeline/waits.ts'
import { publicEntry } from '../../server/events/public-change.ts'
import type { CommandContext } from '../context.ts'
import { describeError } from '../errors.ts'
import { markdownFor } from '../markdown.ts'
import { collect, conversationName, withExamples } from '../options.ts'
import { isStored, openSession, readAttachments, type Session } from '../session.ts'
import { type EndSignal, exitCodeOf, keepProcessRunning, printLine, styleFor } from '../terminal.ts'
import { createTurnPrinter } from '../turn-printer.ts'
import { WAITING_EXIT_CODE } from './waiting.ts'

interface RunOptions {
  readonly attach?: readonly string[]
  readonly json?: true
  readonly quiet?: true
  readonly conversation?: string
}

/**
 * The command `run`. Its exit code is 0 if the turn succeeded, 1 if it failed, and 3 if it waits for a person or a late result. After a
 * signal, the exit code is above 128.
 */
export function runCommand(context: CommandContext, exit: (code: number) => void): Command {
  const command = new Command('run')
    .description('send one message; the answer is printed on the standard output, the rest of the turn on the error stream')
    .argument('<prompt>', 'the message; - reads it from the standard input')
    .option('--attach <file>', 'send a file with the message; may be given several times', collect)
    .option('--json', 'print one JSON line per event, the result last')
    .option('--quiet', 'print only the answer, and errors')
    .option('--conversation <id>', 'continue this conversation; created if it does not exist', conversationName)
    .action(async (prompt: string, options: RunOptions) => {
      try {
        exit(await run(command, context, prompt, options))
      } catch (error) {
        // programs that read the JSON lines also get the error as a JSON line. Wrong usage, with the exit code 2, prints no such line
        const message = options.json && !(error instanceof CommanderError) ? describeError(error) : undefined
        if (message !== undefined) printLine(context.terminal, JSON.stringify({ type: 'error', message }))
        throw error
      }
    })
  return withExamples(command, [
    ['daybook run "What does the report say about costs?" --attach report.pdf', ''],
    ['daybook run "And by quarter?" --conversation costs --json | jq -r "select(.type==\\"result\\").answer"', ''],
    ['daybook run "Write a summary" --attach report.pdf --quiet > summary.md', ''],
    ['git diff | daybook run - --model anthropic/claude-sonnet-5-5', ''],
  ])
}

const unpricedAdvice =
  'a limit of money needs the price of the model: remove budget.money (DAYBOOK_BUDGET_MONEY) and the money limits in budgets, or choose another model'

async function run(
  command: Command,
  context: CommandContext,
  prompt: string,
  { attach = [], json, quiet, conversation }: RunOptions,
): Promise<number> {
  const { terminal } = context
  const settings = await context.settingsWithAgent()
  const files = await readAttachments(attach, terminal.folder)
  const text = prompt === '-' ? await readText(terminal.input) : prompt
  if (text.trim() === '' && files.length === 0) command.error('error: the message is empty; write a text, or attach a file with --attach')
  const onProblem = (where: string, error: unknown) => terminal.errors.write(`${where}: ${errorMessage(error)}\n`)
  const session = await openSession(settings, { conversation, onProblem })
  const abort = new AbortController()
  const stopWaiting = keepProcessRunning()
  let endSignal: EndSignal | undefined
  const stopListening = terminal.onSignal((signal) => {
    endSignal = signal
    session.conversation.stop().then(
      (stopped) => stopped || abort.abort(),
      () => abort.abort(),
    )
  })
  try {
    const onJoined = () => void (quiet || json || terminal.errors.write('a turn is running: this turn or the next one reads the message\n'))
    const print = json ? jsonPrinter(context) : turnPrinter(context, quiet === true)
    const turn = await Promise.race([submitAndFollow(session, text, files, { print, onJoined }, abort.signal), session.conversation.broken])
    if (turn?.exitReason === 'unpriced') terminal.errors.write(`\n${unpricedAdvice}\n`)
    if (json) printLine(terminal, JSON.stringify(await resultLine(turn, session)))
    else if (!quiet && isStored(settings)) {
      const { id } = session.conversation
      terminal.errors.write(`\n${turn?.parked ? howToDecide(turn, id) : `to continue: daybook run "…" --conversation ${id}`}\n`)
      const made = turn?.files.length ?? 0
      if (made > 0) terminal.errors.write(`to save its ${made === 1 ? 'file' : 'files'}: daybook files ${id} --save .\n`)
    }
    if (endSignal) return exitCodeOf(endSignal)
    if (turn?.parked) return WAITING_EXIT_CODE
    return isSuccess(turn) ? 0 : 1
  } finally {
    stopListening()
    abort.abort()
    await session.close()
    stopWaiting()
  }
}

/** Tells the user what to do about a turn that waits. */
function howToDecide({ waits }: TurnView, id: string): string {
  if (waits.some(({ kind }) => kind === 'approval'))
    return `to approve the call: daybook approve ${id}\nto refuse the call: daybook refuse ${id}`
  return `the turn waits: daybook waiting lists what it waits for, and daybook show ${id} shows the conversation`
}

/**
 * Sends a message and prints the events until the end of the turn that has read the message. Resolves to the turn. Resolves to undefined if
 * the signal is aborted first, or if the message was withdrawn. `onJoined` is called when a turn was already running, maybe in another
 * process.
 */
async function submitAndFollow(
  { conversation }: Session,
  text: string,
  files: Parameters<Session['conversation']['submit']>[1],
  { print, onJoined }: { readonly print: (event: TurnEvent) => void; readonly onJoined: () => void },
  signal: AbortSignal,
): Promise<TurnView | undefined> {
  const after = await conversation.lastSeq()
  const events = conversation.follow(after, signal)
  const { eventId, joined } = await conversation.submit(text, files)
  if (joined) onJoined()
  let view: ConversationView = emptyView
  let turnId: string | undefined
  for await (const event of events) {
    view = foldEvent(view, event)
    print(event)
    if (event.type !== 'entry') continue
    const { change } = event
    if (change.type === 'event.folded' && change.event_ids.includes(eventId)) {
      if (change.turn_id === null) return undefined
      turnId = change.turn_id
    }
    if (pausesTurn(change) && 'turn_id' in change && change.turn_id === turnId) return view.turns.find(({ id }) => id === turnId)
  }
  return undefined
}

/**
 * Prints the answer to the standard output, and everything else to the error stream. So `daybook run … > file` writes only the answer to
 * the file.
 */
function turnPrinter({ terminal }: CommandContext, quiet: boolean): (event: TurnEvent) => void {
  const { output, errors, environment } = terminal
  const failures = (text: string) => void errors.write(text)
  const progress = quiet ? () => {} : failures
  const answer = (text: string) => void output.write(text)
  const markdown = markdownFor(output, environment)
  return createTurnPrinter({ answer, progress, failures, markdown }, styleFor(errors, environment)).print
}

/** Prints events in the JSON that a server sends. So a script can treat a local turn and a turn of a server in the same way. */
function jsonPrinter({ terminal }: CommandContext): (event: TurnEvent) => void {
  return (event) => printLine(terminal, JSON.stringify(event.type === 'entry' ? publicEntry(event) : event))
}

/** The last line of `--json`. `turn` is undefined when the command ended before the turn. */
async function resultLine(turn: TurnView | undefined, { conversation, conversations }: Session) {
  const result = turn && (await conversations.turnResult(conversation.id, turn.id))
  const waits = turn?.parked ? { exit_reason: 'waiting', waits: turn.waits } : {}
  return {
    type: 'result',
    conversation: conversation.id,
    ...(result ?? { ok: false, turn_id: null, exit_reason: null, answer: '' }),
    ...waits,
  }
}

/** Whether the turn succeeded. `turn` is undefined when the command ended before the turn. */
const isSuccess = (turn: TurnView | undefined): boolean => turn !== undefined && !turn.failed && !turn.parked

async function readText(input: AsyncIterable<unknown>): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of input) pieces.push(Buffer.from(piece as Uint8Array)) // the standard input yields bytes
  return Buffer.concat(pieces).toString('utf8')
}
