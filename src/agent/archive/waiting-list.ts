import { type Block, readToolCall } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { ResponseReceived, Wait } from '../../core/timeline/change.ts'
import type { ConversationInfo } from '../../ports/store/list.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { completeParams, isCallOf } from '../../tools/call-id.ts'
import { entriesOfTurn } from '../conversation/history.ts'

/** Something that a turn waits for. */
export interface Waiting extends Wait {
  readonly conversationId: string
  readonly turnId: string
  /** The tool of the call that waits, and its complete parameters. If they are very long, they are cut, as in the block of the call. */
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

/** Longer parameters are cut, because a page may have many waits. */
const MAX_PARAMS_CHARS = 200_000

/**
 * Makes a function that lists what turns wait for. It reads the heads of conversations and the blocks of the calls. It reads the journal of
 * the turn only for a call whose block shows shortened parameters.
 */
export function waitingList(
  store: Pick<ConversationStore, 'head' | 'list' | 'findByCall' | 'readJournal'>,
): (query: WaitingQuery) => Promise<WaitingPage> {
  async function describe(head: ConversationInfo): Promise<readonly Waiting[]> {
    const { conversationId, openTurn, waits } = head
    const shown = waits.filter(({ running, kind }) => !running || kind === 'elicitation')
    return Promise.all(shown.map(async (wait) => ({ ...wait, ...(await callDetails(head, wait)), conversationId, turnId: openTurn ?? '' })))
  }

  async function callDetails(head: ConversationInfo, { call_id: callId }: Wait): Promise<Pick<Waiting, 'toolId' | 'params' | 'call'>> {
    const blocks = callId === undefined ? [] : await store.findByCall(head.conversationId, callId)
    const block = blocks.find(({ type }) => type === 'react.tool.call')
    const call = block && readToolCall(block)
    if (!block || !call) return {}
    return { call: block, toolId: call.tool_id, params: (await completeParamsOf(head, block)) ?? (call.params as JsonObject) } // a block has JSON
  }

  /** A person has to see what a call does before it is approved, so shortened parameters are completed. */
  async function completeParamsOf({ conversationId, openTurn, lastSeq }: ConversationInfo, block: Block): Promise<JsonObject | undefined> {
    if (openTurn === null) return undefined
    const params = await completeParams(block, async (callId) => {
      const { changes } = await entriesOfTurn(store, conversationId, lastSeq, openTurn)
      return changes.find((change) => change.type === 'response.received' && isCallOf(change.call_id, callId)) as
        | ResponseReceived
        | undefined
    })
    return isObject(params) && JSON.stringify(params).length <= MAX_PARAMS_CHARS ? (params as JsonObject) : undefined
  }

  /** The waits of a conversation and of the sub-agents that it waits for. */
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
