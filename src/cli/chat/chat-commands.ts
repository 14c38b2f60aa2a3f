import { timelineIfExists } from '../conversation-client.ts'
import { type AttachedFile, readAttachments, type Session } from '../session.ts'
import { plainLine, type Style } from '../terminal.ts'
import type { ChatScreen } from './screen.ts'

/** How a chat is left: for good, or for another conversation. */
export type ChatExit = 'quit' | 'new'

/** A conversation in a terminal, while it is open. */
export interface Chat {
  readonly session: Session
  readonly screen: ChatScreen
  readonly style: Style
  /** Where the names of files begin. */
  readonly folder: string
  leave(how: ChatExit): void
  /** A turn is being worked on. */
  running: boolean
  /** Ctrl-C was pressed, and nothing was said since. */
  interrupted: boolean
  /** What goes along with what is said next. */
  attached: readonly AttachedFile[]
}

/** Does what a line means. */
export async function runChatCommand(chat: Chat, word: ChatCommand): Promise<void> {
  const { session: talk, screen } = chat
  switch (word.kind) {
    case 'nothing':
      return
    case 'say':
      return submitMessage(chat, word.text)
    case 'steer':
      if (!(await talk.conversation.steer(word.text))) screen.printLine('nothing is running: just say it')
      return
    case 'stop':
      if (!(await talk.conversation.stop())) screen.printLine('nothing is running')
      return
    case 'attach':
      chat.attached = [...chat.attached, ...(await readAttachments([word.text], chat.folder))]
      return screen.printLine(`goes along with what you say next: ${chat.attached.map(({ name }) => plainLine(name)).join(', ')}`)
    case 'files':
      return listFiles(chat)
    case 'help':
      return screen.printLine(chatHelp)
    case 'new':
    case 'quit':
      return chat.leave(word.kind)
    case 'unknown':
      return screen.printLine(`there is no /${plainLine(word.word)}, or something is missing; /help says what there is`)
    default:
      return word satisfies never
  }
}

/** Once stops the turn, twice leaves. */
export async function interrupt(chat: Chat): Promise<void> {
  if (chat.interrupted) return chat.leave('quit')
  chat.interrupted = true
  const stopping = chat.running && (await chat.session.conversation.stop())
  chat.screen.printLine(chat.style.dim(stopping ? 'stopping; Ctrl-C again leaves' : 'Ctrl-C again leaves'))
}

async function submitMessage(chat: Chat, text: string): Promise<void> {
  const before = { running: chat.running, attached: chat.attached }
  Object.assign(chat, { running: true, interrupted: false, attached: [] })
  chat.screen.hidePrompt()
  try {
    await chat.session.conversation.submit(text, before.attached)
  } catch (error) {
    Object.assign(chat, before) // nothing was taken
    throw error
  }
}

async function listFiles({ session: talk, screen }: Chat): Promise<void> {
  const blocks = (await timelineIfExists(talk.conversations, talk.conversation.id))?.blocks ?? []
  const files = new Set(blocks.flatMap(({ meta, path }) => (meta?.rn !== undefined && path !== undefined ? [path] : [])))
  screen.printLine(files.size === 0 ? 'no files yet' : [...files].map((path) => `  ${plainLine(path)}`).join('\n'))
}

/** What a line typed in a chat means. */
export type ChatCommand =
  | { readonly kind: 'say' | 'steer' | 'attach'; readonly text: string }
  | { readonly kind: 'stop' | 'files' | 'new' | 'help' | 'quit' | 'nothing' }
  | { readonly kind: 'unknown'; readonly word: string }

const commandsWithText = new Set(['steer', 'attach'])
const commandsWithoutText = new Set(['stop', 'files', 'new', 'help', 'quit'])

/** `/word text` is for the program, `//…` says what begins with a slash, everything else is said. */
export function parseChatLine(line: string): ChatCommand {
  const text = line.trim()
  if (text === '') return { kind: 'nothing' }
  if (text.startsWith('//')) return { kind: 'say', text: text.slice(1) }
  if (!text.startsWith('/')) return { kind: 'say', text }
  const [, word = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? []
  if (commandsWithText.has(word) && rest !== '') return { kind: word as 'steer' | 'attach', text: rest }
  if (commandsWithoutText.has(word)) return { kind: word as 'stop' }
  return { kind: 'unknown', word }
}

export const chatHelp = `anything        is said; while a turn runs it is added to it
/steer <text>   interrupts the turn and says where to go instead
/stop           ends the turn (or Ctrl-C)
/attach <file>  goes along with what you say next
/files          what was attached or handed over
/new            begins another conversation
/quit           leaves (or Ctrl-D, or Ctrl-C twice); a turn that runs is taken up when you come back
//…             says something that begins with a slash`
