import { attachedFiles } from './attached-files.ts'
import type { ChatScreen } from './chat-screen.ts'
import { type ChatWord, chatHelp } from './chat-words.ts'
import type { AttachedFile } from './line.ts'
import { plainLine } from './plain-text.ts'
import { timelineIfAny } from './shelf.ts'
import type { Style } from './style.ts'
import type { Talk } from './talk.ts'

/** How a chat is left: for good, or for another conversation. */
export type Leaving = 'quit' | 'new'

/** A conversation in a terminal, while it is open. */
export interface Chat {
  readonly talk: Talk
  readonly screen: ChatScreen
  readonly style: Style
  /** Where the names of files begin. */
  readonly folder: string
  leave(how: Leaving): void
  /** A turn is being worked on. */
  running: boolean
  /** Ctrl-C was pressed, and nothing was said since. */
  interrupted: boolean
  /** What goes along with what is said next. */
  attached: readonly AttachedFile[]
}

/** Does what a line means. */
export async function obey(chat: Chat, word: ChatWord): Promise<void> {
  const { talk, screen } = chat
  switch (word.kind) {
    case 'nothing':
      return
    case 'say':
      return say(chat, word.text)
    case 'steer':
      if (!(await talk.line.steer(word.text))) screen.say('nothing is running: just say it')
      return
    case 'stop':
      if (!(await talk.line.stop())) screen.say('nothing is running')
      return
    case 'attach':
      chat.attached = [...chat.attached, ...(await attachedFiles([word.text], chat.folder))]
      return screen.say(`goes along with what you say next: ${chat.attached.map(({ name }) => plainLine(name)).join(', ')}`)
    case 'files':
      return listFiles(chat)
    case 'help':
      return screen.say(chatHelp)
    case 'new':
    case 'quit':
      return chat.leave(word.kind)
    case 'unknown':
      return screen.say(`there is no /${plainLine(word.word)}, or something is missing; /help says what there is`)
    default:
      return word satisfies never
  }
}

/** Once stops the turn, twice leaves. */
export async function interrupt(chat: Chat): Promise<void> {
  if (chat.interrupted) return chat.leave('quit')
  chat.interrupted = true
  const stopping = chat.running && (await chat.talk.line.stop())
  chat.screen.say(chat.style.quiet(stopping ? 'stopping; Ctrl-C again leaves' : 'Ctrl-C again leaves'))
}

async function say(chat: Chat, text: string): Promise<void> {
  const before = { running: chat.running, attached: chat.attached }
  Object.assign(chat, { running: true, interrupted: false, attached: [] })
  chat.screen.busy()
  try {
    await chat.talk.line.say(text, before.attached)
  } catch (error) {
    Object.assign(chat, before) // nothing was taken
    throw error
  }
}

async function listFiles({ talk, screen }: Chat): Promise<void> {
  const blocks = (await timelineIfAny(talk.shelf, talk.line.conversation))?.blocks ?? []
  const files = new Set(blocks.flatMap(({ meta, path }) => (meta?.rn !== undefined && path !== undefined ? [path] : [])))
  screen.say(files.size === 0 ? 'no files yet' : [...files].map((path) => `  ${plainLine(path)}`).join('\n'))
}
