import type { Agent } from '../agent/agent.ts'
import type { Client } from '../client/client.ts'
import type { TurnEvent } from '../core/event.ts'

export interface AttachedFile {
  readonly name: string
  readonly content: Uint8Array
}

/** A conversation to talk to: an agent in this process, or a server somewhere. */
export interface Line {
  readonly conversation: string
  /** The latest entry there is. */
  lastSeq(): Promise<number>
  /** Resolves when it was accepted. */
  say(text: string, files?: readonly AttachedFile[]): Promise<void>
  /** False when nothing is running. */
  steer(text: string): Promise<boolean>
  stop(): Promise<boolean>
  follow(after: number, signal: AbortSignal): AsyncIterable<TurnEvent>
  close(): Promise<void>
}

export function lineToAgent(agent: Agent, conversation: string, close: () => Promise<void>): Line {
  return {
    conversation,
    async lastSeq() {
      const head = await agent.archive.head(conversation).catch(() => undefined) // not made yet
      return head?.lastSeq ?? 0
    },
    async say(text, files = []) {
      await agent.submit(conversation, text, { attachments: files })
    },
    steer: (text) => agent.steer(conversation, text),
    stop: () => agent.stop(conversation),
    follow: (after, signal) => agent.follow(conversation, { after, signal }),
    close,
  }
}

export async function lineToServer(client: Client, name: string | undefined): Promise<Line> {
  const { id } = name === undefined ? await client.conversations.create() : await openOrMake(client, name)
  return {
    conversation: id,
    lastSeq: async () => (await client.conversations.get(id)).last_seq,
    async say(text, files = []) {
      const sent = files.map(({ name: file, content }) => ({ name: file, content: new Blob([Uint8Array.from(content)]) }))
      await client.submit(id, { text, files: sent })
    },
    steer: async (text) => (await client.submit(id, { text, mode: 'steer' })).status === 'steer_accepted',
    stop: async () => (await client.stop(id)).stopped,
    follow: (after, signal) => client.follow(id, { after, signal }),
    close: async () => {},
  }
}

async function openOrMake(client: Client, id: string) {
  try {
    return await client.conversations.get(id)
  } catch (error) {
    if ((error as { status?: number }).status !== 404) throw error
    return client.conversations.create({ id })
  }
}
