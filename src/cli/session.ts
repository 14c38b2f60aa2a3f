import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { Agent } from '../agent/agent.ts'
import { type Client, createClient } from '../client/client.ts'
import { RequestRefused } from '../client/request.ts'
import type { Settings } from '../config.ts'
import type { TurnEvent } from '../core/event.ts'
import { Failure } from '../core/failure.ts'
import { openAgent } from '../wiring.ts'
import { type ConversationClient, localConversationClient, newConversationId, remoteConversationClient } from './conversation-client.ts'
import { readFailureText } from './errors.ts'

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

/** Files to send along; one that cannot be read is named before anything is sent. */
export async function readAttachments(names: readonly string[], folder: string): Promise<readonly AttachedFile[]> {
  return Promise.all(
    names.map(async (name) => {
      const content = await readRegularFile(resolve(folder, name)).catch((error: NodeJS.ErrnoException) => {
        throw new Failure('attachment.rejected', `cannot read ${name}: ${readFailureText(error)}; nothing was sent`, { cause: error })
      })
      return { name: basename(name), content }
    }),
  )
}

/** Never waits: a pipe that nobody writes to, or a device without an end, is refused instead of read. */
async function readRegularFile(file: string): Promise<Uint8Array> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await handle.stat()
    if (!found.isFile() && !found.isDirectory()) throw new RangeError('it is a pipe or a device; save it as a file first')
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}
