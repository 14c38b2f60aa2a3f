import { createClient } from '../client/client.ts'
import type { Settings } from '../config.ts'
import { openAgent } from '../wiring.ts'
import { type Line, lineToAgent, lineToServer } from './line.ts'
import { newConversationName, type Shelf, shelfOfArchive, shelfOfServer } from './shelf.ts'

/** A conversation to talk to, and the shelf it stands on. */
export interface Talk {
  readonly line: Line
  readonly shelf: Shelf
  /** At a server, where turns run whether somebody is here or not. */
  readonly elsewhere: boolean
  /** A turn that is running is left to whoever comes next; at a server it goes on. */
  close(): Promise<void>
}

export interface TalkOptions {
  /** Made when it is not there; a new one when not said. */
  readonly conversation?: string | undefined
  /** The one that was active last, if there is any. */
  readonly latest?: boolean | undefined
  /** Told of what goes wrong beside the turn. */
  readonly onProblem: (where: string, error: unknown) => void
}

export async function openTalk(settings: Settings, options: TalkOptions): Promise<Talk> {
  return settings.server === undefined ? talkToAgent(settings, options) : talkToServer(settings.server, settings.token, options)
}

async function talkToAgent(settings: Settings, { onProblem, ...wanted }: TalkOptions): Promise<Talk> {
  const broken = Promise.withResolvers<never>()
  broken.promise.catch(() => {}) // whoever waits for it is told; nobody has to
  const { agent, close } = await openAgent(settings, {
    onProblem: ({ where, error }) => (where === 'turn' ? broken.reject(error) : onProblem(where, error)),
  })
  try {
    const shelf = shelfOfArchive(agent.archive, close)
    const name = (await nameOf(wanted, shelf)) ?? newConversationName()
    return { line: lineToAgent(agent, name, broken.promise), shelf, elsewhere: false, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function talkToServer(baseUrl: string, token: string | undefined, wanted: TalkOptions): Promise<Talk> {
  const client = createClient({ baseUrl, ...(token !== undefined && { token }) })
  const shelf = shelfOfServer(client)
  return { line: await lineToServer(client, await nameOf(wanted, shelf)), shelf, elsewhere: true, close: async () => {} }
}

async function nameOf({ conversation, latest }: Omit<TalkOptions, 'onProblem'>, shelf: Shelf): Promise<string | undefined> {
  if (conversation !== undefined || !latest) return conversation
  return (await shelf.list({ limit: 1 })).conversations[0]?.id
}
