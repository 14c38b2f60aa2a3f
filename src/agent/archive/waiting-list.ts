import { type Block, readToolCall } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Wait } from '../../core/timeline/change.ts'
import type { ConversationInfo, ConversationStore } from '../../ports/store.ts'

/** Something that a turn waits for. */
export interface Waiting extends Wait {
  readonly conversationId: string
  readonly turnId: string
  /** The tool of the call that waits, and the parameters as its block shows them: long texts are cut. */
  readonly toolId?: string
  readonly params?: JsonObject
  /** The block of the call that waits. */
  readonly call?: Block
}

/** A page of waits. `next` is the cursor of the following page, and undefined on the last page. */
export interface WaitingPage {
  readonly waits: readonly Waiting[]
  readonly next?: string
}

/** Which waits `Agent.waiting` returns. */
export interface WaitingQuery {
  /** Only the waits of this conversation and of its sub-agents. */
  readonly conversationId?: string
  /** Only conversations whose id begins with this text. */
  readonly prefix?: string
  /** Only conversations whose id has no slash. */
  readonly plain?: true
  /** How many conversations a page has. */
  readonly limit?: number
  /** The `next` of the previous page. */
  readonly cursor?: string
}

/** Makes a function that lists what turns wait for. It reads the heads of conversations and the blocks of the calls, and no journal. */
export function waitingList(store: Pick<ConversationStore, 'head' | 'list' | 'findByCall'>): (query: WaitingQuery) => Promise<WaitingPage> {
  async function describe({ conversationId, openTurn, waits }: ConversationInfo): Promise<readonly Waiting[]> {
    const shown = waits.filter(({ running, kind }) => !running || kind === 'elicitation')
    return Promise.all(
      shown.map(async (wait) => ({ ...wait, ...(await callDetails(conversationId, wait)), conversationId, turnId: openTurn ?? '' })),
    )
  }

  async function callDetails(conversationId: string, { call_id: callId }: Wait): Promise<Pick<Waiting, 'toolId' | 'params' | 'call'>> {
    const blocks = callId === undefined ? [] : await store.findByCall(conversationId, callId)
    const block = blocks.find(({ type }) => type === 'react.tool.call')
    const call = block && readToolCall(block)
    return { ...(block && { call: block }), ...(call && { toolId: call.tool_id, params: call.params as JsonObject }) } // a block has JSON
  }

  /** The waits of a conversation and of its sub-agents. Only a conversation that waits for sub-agents is searched for theirs. */
  async function ofConversation(conversationId: string): Promise<readonly Waiting[]> {
    const own = await describe(await headOf(store, conversationId))
    const children = own.flatMap(({ child_id }) => child_id ?? [])
    const found = await Promise.all(children.map(async (child) => ((await store.head(child)) ? ofConversation(child) : [])))
    return [...own, ...found.flat()]
  }

  return async ({ conversationId, limit = 50, ...query }) => {
    if (conversationId !== undefined) return { waits: await ofConversation(conversationId) }
    const page = await store.list({ waits: true, limit, ...query })
    const waits = (await Promise.all(page.conversations.map(describe))).flat()
    return { waits, ...(page.next !== undefined && { next: page.next }) }
  }
}

/** The head of a conversation. Throws `conversation.missing`. */
export async function headOf(store: Pick<ConversationStore, 'head'>, conversationId: string): Promise<ConversationInfo> {
  const head = await store.head(conversationId)
  if (!head) throw new Failure('conversation.missing', `there is no conversation ${conversationId}`)
  return head
}
