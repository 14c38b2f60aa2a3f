import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { Agent } from '../agent/agent-interface.ts'
import type { Completion, Decision } from '../agent/waiting.ts'
import { type Client, createClient } from '../client/client.ts'
import { RequestRefused } from '../client/request.ts'
import type { Settings } from '../config/settings.ts'
import type { CompletionBody, DecisionBody, RecordedView } from '../core/api/waiting.ts'
import type { TurnEvent } from '../core/event.ts'
import { Failure } from '../core/failure.ts'
import { callerKey } from '../core/scope.ts'
import { openAgent } from '../wiring/open-agent.ts'
import { type ConversationClient, localConversationClient, newConversationId, remoteConversationClient } from './conversation-client.ts'
import { readFailureText } from './errors.ts'

/** An open conversation of a local agent or of a server. The session also gives access to the other stored conversations. */
export interface Session {
  readonly conversation: ConversationSession
  readonly conversations: ConversationClient
  /** Whether the conversation is on a server. A turn on a server keeps running after the session is closed. */
  readonly remote: boolean
  /** Ends the session. A local turn that is still running is interrupted. The next session can resume it. */
  close(): Promise<void>
}

/** A file to send with a message. */
export interface AttachedFile {
  readonly name: string
  readonly content: Uint8Array
}

/** A message that is stored. */
export interface SubmittedMessage {
  readonly eventId: string
  /** True when the message did not start a turn, because a turn is already running. That turn may run in another process. */
  readonly joined: boolean
}

/** The operations on one open conversation. */
interface ConversationSession {
  readonly id: string
  /** The `seq` of the latest entry. */
  lastSeq(): Promise<number>
  /** Sends a message. Resolves when the message is stored. */
  submit(text: string, files?: readonly AttachedFile[]): Promise<SubmittedMessage>
  /** Sends a message that interrupts the running turn. Resolves to false when no turn is running. */
  steer(text: string): Promise<boolean>
  /** Stops the running turn. Resolves to false when no turn is running. */
  stop(): Promise<boolean>
  follow(after: number, signal: AbortSignal): AsyncIterable<TurnEvent>
  /** Approves or refuses a call that waits. For a call of a sub-agent, `of` is the conversation of the sub-agent. */
  decide(callId: string, decision: DecisionBody, of?: string): Promise<RecordedView['status']>
  /** Delivers the late result of a call. */
  complete(callId: string, completion: CompletionBody, of?: string): Promise<RecordedView['status']>
  /** Rejects when a turn of the local agent fails with an error that no event reports. In all other cases it never settles. */
  readonly broken: Promise<never>
}

interface SessionOptions {
  /** The id of the conversation to open. The conversation is created when it does not exist. */
  readonly conversation?: string | undefined
  /** Whether to open the conversation that was active last, if there is any conversation. */
  readonly latest?: boolean | undefined
  /** Called for an error of the local agent after which the command continues. `where` names the failed step, such as `announce`. */
  readonly onProblem: (where: string, error: unknown) => void
}

/** Opens a conversation on the server in `settings.server`. Without this setting, an agent in this process opens it. */
export async function openSession(settings: Settings, options: SessionOptions): Promise<Session> {
  return settings.server === undefined ? openLocalSession(settings, options) : openRemoteSession(settings.server, settings.token, options)
}

/** Whether conversations are kept after the command has ended, so that a later command can continue them. */
export const isStored = ({ server, store }: Settings): boolean => server !== undefined || store !== 'memory'

async function openLocalSession(settings: Settings, options: SessionOptions): Promise<Session> {
  const broken = Promise.withResolvers<never>()
  broken.promise.catch(() => {}) // a rejection without a handler would end the process
  const { agent, close } = await openAgent(settings, {
    onProblem: ({ where, error }) => (where === 'turn' ? broken.reject(error) : options.onProblem(where, error)),
  })
  try {
    const conversations = localConversationClient(agent.archive, close)
    const known = await resolveConversationId(options, conversations)
    if (known !== undefined) await checkTools(agent, known)
    const id = known ?? newConversationId()
    return { conversation: localConversation(agent, id, broken.promise), conversations, remote: false, close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Throws if an unfinished call of the conversation has a tool that the agent of this command does not have. In this case, another agent
 * uses the same data folder and has to continue the turn, because the agent of this command can not run the call.
 */
async function checkTools(agent: Agent, conversationId: string): Promise<void> {
  const missing = await agent.missingTools(topOf(conversationId)).catch((error: unknown) => {
    if (error instanceof Failure && error.code === 'conversation.missing') return [] // the first message creates the conversation
    throw error
  })
  if (missing.length === 0) return
  throw new RangeError(
    `an unfinished call needs the tool ${missing.join(', ')}, which this agent lacks: name the agent that made the call with --agent or --server`,
  )
}

/** The conversation whose agent runs the turn: a sub-agent is run by the agent that called it. */
function topOf(conversationId: string): string {
  const caller = callerKey(conversationId)
  return caller === undefined ? conversationId : topOf(caller)
}

async function openRemoteSession(baseUrl: string, token: string | undefined, options: SessionOptions): Promise<Session> {
  const client = createClient({ baseUrl, ...(token !== undefined && { token }) })
  const conversations = remoteConversationClient(client)
  return {
    conversation: await remoteConversation(client, await resolveConversationId(options, conversations)),
    conversations,
    remote: true,
    close: async () => {},
  }
}

async function resolveConversationId(
  { conversation, latest }: SessionOptions,
  conversations: ConversationClient,
): Promise<string | undefined> {
  if (conversation !== undefined || !latest) return conversation
  return (await conversations.list({ limit: 1 })).conversations[0]?.id
}

function localConversation(agent: Agent, id: string, broken: Promise<never>): ConversationSession {
  return {
    id,
    async lastSeq() {
      try {
        return (await agent.archive.head(id)).lastSeq
      } catch (error) {
        if (error instanceof Failure && error.code === 'conversation.missing') return 0 // the first message creates the conversation
        throw error
      }
    },
    async submit(text, files = []) {
      const { eventId, how } = await agent.send(id, text, { attachments: files })
      return { eventId, joined: how !== 'turn' }
    },
    steer: async (text) => (await agent.steer(id, text)) !== false,
    stop: () => agent.stop(id),
    follow: (after, signal) => agent.follow(id, { after, signal }),
    decide: (callId, decision, of = id) => agent.decide(of, callId, decision as Decision), // the types of the API have the same fields
    complete: (callId, completion, of = id) => agent.complete(of, callId, completion as Completion),
    broken,
  }
}

async function remoteConversation(client: Client, wanted: string | undefined): Promise<ConversationSession> {
  const { id } = wanted === undefined ? await client.conversations.create() : await getOrCreate(client, wanted)
  return {
    id,
    lastSeq: async () => (await client.conversations.get(id)).last_seq,
    async submit(text, files = []) {
      const blobs = files.map(({ name, content }) => ({ name, content: new Blob([Uint8Array.from(content)]) }))
      const { event_id: eventId, status } = await client.send(id, text, { files: blobs })
      return { eventId, joined: status !== 'processing_started' }
    },
    steer: async (text) => (await client.send(id, text, { mode: 'steer' })).status === 'steer_accepted',
    stop: async () => (await client.stop(id)).stopped,
    follow: (after, signal) => client.follow(id, { after, signal }),
    decide: async (callId, decision, of = id) => (await client.decide(of, callId, decision)).status,
    complete: async (callId, completion, of = id) => (await client.complete(of, callId, completion)).status,
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

/** Reads the files to send with a message. Rejects if one of them can not be read. */
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

/**
 * Reads a file. Rejects pipes and devices, because reading them may never end. Without `O_NONBLOCK`, opening a pipe would wait for a
 * writer.
 */
async function readRegularFile(file: string): Promise<Uint8Array> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = await handle.stat()
    if (!stat.isFile() && !stat.isDirectory()) throw new RangeError('it is a pipe or a device; save it as a file first')
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}
