import type { DecisionBody } from '../../core/api/waiting.ts'
import type { Wait } from '../../core/timeline/change.ts'
import { timelineIfExists } from '../conversation-client.ts'
import { type AttachedFile, readAttachments, type Session } from '../session.ts'
import { plainLine, type Style } from '../terminal.ts'
import type { ChatScreen } from './screen.ts'

/** The state of an open chat. */
export interface Chat {
  readonly session: Session
  readonly screen: ChatScreen
  readonly style: Style
  /** The folder to which file names of the user are relative. */
  readonly folder: string
  exit(how: ChatExit): void
  running: boolean
  /** The event ids of messages of this chat that no turn has read yet. */
  readonly unread: Set<string>
  /** The event ids that turns have read since the chat was opened. */
  readonly read: Set<string>
  /** Whether Ctrl-C was pressed since the last message or the last end of a turn. If so, the next Ctrl-C leaves the chat. */
  interrupted: boolean
  /** The files that are sent with the next message. */
  attached: readonly AttachedFile[]
  /** What the turn waits for. */
  waits: readonly Wait[]
}

/** How a chat ends: the user leaves, or wants a new conversation. */
export type ChatExit = 'quit' | 'new'

/** A parsed line of input: a message, or a command that begins with a slash. */
type ChatCommand =
  | { readonly kind: 'message' | 'steer' | 'attach' | 'refuse'; readonly text: string }
  | { readonly kind: 'stop' | 'approve' | 'files' | 'new' | 'help' | 'quit' | 'empty' }
  | { readonly kind: 'unknown'; readonly name: string }

const commandsWithText = new Set(['steer', 'attach'])
const commandsWithoutText = new Set(['stop', 'approve', 'files', 'new', 'help', 'quit'])

const chatHelp = `any text        sends a message; while a turn runs it is added to that turn
/steer <text>   interrupts the turn and gives it a new direction
/stop           stops the turn (or Ctrl-C)
/approve        approves the call that waits for you, so that it runs
/refuse <text>  refuses the call that waits for you; the agent reads the text
/attach <file>  sends a file with your next message
/files          lists attached and delivered files
/new            starts a new conversation
/quit           leaves (or Ctrl-D, or Ctrl-C twice); an unfinished turn is resumed when you come back
//…             sends a message that begins with a slash`

export function parseChatLine(line: string): ChatCommand {
  const text = line.trim()
  if (text === '') return { kind: 'empty' }
  if (text.startsWith('//')) return { kind: 'message', text: text.slice(1) }
  if (!text.startsWith('/')) return { kind: 'message', text }
  const [, name = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? []
  if (name === 'refuse') return { kind: name, text: rest }
  if (commandsWithText.has(name) && rest !== '') return { kind: name as 'steer' | 'attach', text: rest }
  if (commandsWithoutText.has(name)) return { kind: name as 'stop' }
  return { kind: 'unknown', name }
}

export async function runChatCommand(chat: Chat, command: ChatCommand): Promise<void> {
  const { session, screen } = chat
  switch (command.kind) {
    case 'empty':
      return
    case 'message':
      return submitMessage(chat, command.text)
    case 'steer':
      if (!(await session.conversation.steer(command.text)))
        screen.printLine('no turn is running, so the text was not sent: send it as a message')
      return
    case 'stop':
      if (!(await session.conversation.stop())) screen.printLine('no turn is running')
      return
    case 'approve':
      return decide(chat, { approved: true })
    case 'refuse':
      return decide(chat, { approved: false, note: command.text })
    case 'attach':
      chat.attached = [...chat.attached, ...(await readAttachments([command.text], chat.folder))]
      return screen.printLine(`will be sent with your next message: ${chat.attached.map(({ name }) => plainLine(name)).join(', ')}`)
    case 'files':
      return listFiles(chat)
    case 'help':
      return screen.printLine(chatHelp)
    case 'new':
    case 'quit':
      return chat.exit(command.kind)
    case 'unknown':
      return screen.printLine(`/${plainLine(command.name)} is not a command, or its text is missing; /help lists the commands`)
    default:
      return command satisfies never
  }
}

/** Handles Ctrl-C. The first Ctrl-C stops the turn, the second one leaves the chat. */
export async function interrupt(chat: Chat): Promise<void> {
  if (chat.interrupted) return chat.exit('quit')
  chat.interrupted = true
  const stopping = chat.running && (await chat.session.conversation.stop())
  chat.screen.printLine(chat.style.dim(stopping ? 'stopping the turn; press Ctrl-C again to leave' : 'press Ctrl-C again to leave'))
}

/** Decides about the oldest call that waits for an approval. It may be a call of a sub-agent. */
async function decide({ session, screen, waits }: Chat, decision: DecisionBody): Promise<void> {
  const { id } = session.conversation
  const isForPerson = ({ kind }: { readonly kind: string }) => kind === 'approval'
  const own = waits.find(isForPerson)
  const ofChild = own || waits.length === 0 ? undefined : (await session.conversations.waiting(id)).find(isForPerson)
  const callId = own?.call_id ?? ofChild?.call_id
  if (callId === undefined) return screen.printLine('no call waits for you')
  if ((await session.conversation.decide(callId, decision, ofChild?.conversation_id)) === 'known')
    screen.printLine('another person has already decided about this call')
}

async function submitMessage(chat: Chat, text: string): Promise<void> {
  const before = { running: chat.running, attached: chat.attached }
  Object.assign(chat, { running: true, interrupted: false, attached: [] })
  chat.screen.hidePrompt()
  try {
    const { eventId } = await chat.session.conversation.submit(text, before.attached)
    if (!chat.read.has(eventId)) chat.unread.add(eventId)
  } catch (error) {
    Object.assign(chat, before) // the message was not accepted, so restore the state
    throw error
  }
}

async function listFiles({ session, screen }: Chat): Promise<void> {
  const blocks = (await timelineIfExists(session.conversations, session.conversation.id))?.blocks ?? []
  const files = new Set(blocks.flatMap(({ meta, path }) => (meta?.rn !== undefined && path !== undefined ? [path] : [])))
  screen.printLine(files.size === 0 ? 'no files yet' : [...files].map((path) => `  ${plainLine(path)}`).join('\n'))
  if (files.size > 0) screen.printLine(`to save the files that the agent made: daybook files ${session.conversation.id} --save .`)
}
