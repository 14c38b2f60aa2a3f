import { createClient } from '../client/client.ts'
import type { Settings } from '../config.ts'
import { openAgent } from '../wiring.ts'
import { type ConversationClient, localConversationClient, newConversationId, remoteConversationClient } from './conversation-client.ts'
import { type ConversationSession, localConversation, remoteConversation } from './line.ts'

/** A conversation to talk to, and the shelf it stands on. */
export interface Session {
  readonly conversation: ConversationSession
  readonly conversations: ConversationClient
  /** At a server, where turns run whether somebody is here or not. */
  readonly remote: boolean
  /** A turn that is running is left to whoever comes next; at a server it goes on. */
  close(): Promise<void>
}

export interface SessionOptions {
  /** Made when it is not there; a new one when not said. */
  readonly conversation?: string | undefined
  /** The one that was active last, if there is any. */
  readonly latest?: boolean | undefined
  /** Told of what goes wrong beside the turn. */
  readonly onProblem: (where: string, error: unknown) => void
}

export async function openSession(settings: Settings, options: SessionOptions): Promise<Session> {
  return settings.server === undefined ? openLocalSession(settings, options) : openRemoteSession(settings.server, settings.token, options)
}

async function openLocalSession(settings: Settings, { onProblem, ...wanted }: SessionOptions): Promise<Session> {
  const broken = Promise.withResolvers<never>()
  broken.promise.catch(() => {}) // whoever waits for it is told; nobody has to
  const { agent, close } = await openAgent(settings, {
    onProblem: ({ where, error }) => (where === 'turn' ? broken.reject(error) : onProblem(where, error)),
  })
  try {
    const shelf = localConversationClient(agent.archive, close)
    const name = (await resolveConversationId(wanted, shelf)) ?? newConversationId()
    return { conversation: localConversation(agent, name, broken.promise), conversations: shelf, remote: false, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openRemoteSession(baseUrl: string, token: string | undefined, wanted: SessionOptions): Promise<Session> {
  const client = createClient({ baseUrl, ...(token !== undefined && { token }) })
  const shelf = remoteConversationClient(client)
  return {
    conversation: await remoteConversation(client, await resolveConversationId(wanted, shelf)),
    conversations: shelf,
    remote: true,
    close: async () => {},
  }
}

async function resolveConversationId(
  { conversation, latest }: Omit<SessionOptions, 'onProblem'>,
  shelf: ConversationClient,
): Promise<string | undefined> {
  if (conversation !== undefined || !latest) return conversation
  return (await shelf.list({ limit: 1 })).conversations[0]?.id
}
