import type { Agent } from '../agent/agent.ts'
import type { Client } from '../client/client.ts'
import { RequestRefused } from '../client/request.ts'
import type { TurnEvent } from '../core/event.ts'
import { Failure } from '../core/failure.ts'

export interface AttachedFile {
  readonly name: string
  readonly content: Uint8Array
}

/** A conversation to talk to: an agent in this process, or a server somewhere. */
export interface ConversationSession {
  readonly id: string
  /** The latest entry there is. */
  lastSeq(): Promise<number>
  /** Resolves when it was accepted, to the turn that is at work on it. */
  submit(text: string, files?: readonly AttachedFile[]): Promise<string | undefined>
  /** False when nothing is running. */
  steer(text: string): Promise<boolean>
  stop(): Promise<boolean>
  follow(after: number, signal: AbortSignal): AsyncIterable<TurnEvent>
  /** Rejects when a turn breaks off in a way that is told nowhere else; never resolves. */
  readonly broken: Promise<never>
}

export function localConversation(agent: Agent, conversation: string, broken: Promise<never>): ConversationSession {
  return {
    id: conversation,
    async lastSeq() {
      try {
        return (await agent.archive.head(conversation)).lastSeq
      } catch (error) {
        if (error instanceof Failure && error.code === 'conversation.missing') return 0 // not made yet
        throw error
      }
    },
    async submit(text, files = []) {
      return (await agent.submit(conversation, text, { attachments: files })).turnId
    },
    steer: (text) => agent.steer(conversation, text),
    stop: () => agent.stop(conversation),
    follow: (after, signal) => agent.follow(conversation, { after, signal }),
    broken,
  }
}

export async function remoteConversation(client: Client, name: string | undefined): Promise<ConversationSession> {
  const { id } = name === undefined ? await client.conversations.create() : await getOrCreate(client, name)
  return {
    id: id,
    lastSeq: async () => (await client.conversations.get(id)).last_seq,
    async submit(text, files = []) {
      const sent = files.map(({ name: file, content }) => ({ name: file, content: new Blob([Uint8Array.from(content)]) }))
      return (await client.submit(id, { text, files: sent })).turn_id ?? undefined
    },
    steer: async (text) => (await client.submit(id, { text, mode: 'steer' })).status === 'steer_accepted',
    stop: async () => (await client.stop(id)).stopped,
    follow: (after, signal) => client.follow(id, { after, signal }),
    broken: new Promise(() => {}),
  }
}

async function getOrCreate(client: Client, id: string) {
  try {
    return await client.conversations.get(id)
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.status !== 404) throw error
    return client.conversations.create({ id })
  }
}
