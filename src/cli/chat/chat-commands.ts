import { readAttachments } from '../attached-files.ts'
import { type ChatCommand, chatHelp } from '../chat-words.ts'
import { timelineIfExists } from '../conversation-client.ts'
import type { AttachedFile } from '../line.ts'
import { plainLine } from '../plain-text.ts'
import type { Session } from '../session.ts'
import type { Style } from '../style.ts'
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
