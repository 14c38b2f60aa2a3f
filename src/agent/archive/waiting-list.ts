import { type Block, readToolCall } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import type { Wait } from '../../core/timeline/change.ts'
import type { ConversationInfo } from '../../ports/store/list.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { entriesOfTurn } from '../conversation/history.ts'
import { describeWait, type TurnWait } from '../waits/describe-wait.ts'

/** Something that a turn waits for, with its conversation. */
export interface Waiting extends TurnWait {
  readonly conversationId: string
  readonly turnId: string
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

/**
 * Makes a function that lists what turns wait for. It reads the heads of conversations and the blocks of the calls. It reads the journal of
 * the turn only for a call whose block shows shortened parameters.
 */
export function waitingList(
  store: Pick<ConversationStore, 'head' | 'list' | 'findByCall' | 'readJournal'>,
): (query: WaitingQuery) => Promise<WaitingPage> {
  async function describe(head: ConversationInfo): Promise<readonly Waiting[]> {
    const shown = head.waits.filter(({ running, kind }) => !running || kind === 'elicitation')
    return Promise.all(shown.map((wait) => describeWithCall(head, wait)))
  }

  async function describeWithCall({ conversationId, openTurn, lastSeq }: ConversationInfo, wait: Wait): Promise<Waiting> {
    const blocks = wait.call_id === undefined ? [] : await store.findByCall(conversationId, wait.call_id)
    const call = blocks.find((block) => block.type === 'react.tool.call' && readToolCall(block) !== undefined)
    const described = await describeWait(wait, call, async () =>
      openTurn === null ? [] : (await entriesOfTurn(store, conversationId, lastSeq, openTurn)).changes,
    )
    return { ...described, ...(call && { call }), conversationId, turnId: openTurn ?? '' }
  }

  /** The waits of a conversation and of the sub-agents that it waits for. */
  async function ofConversation(conversationId: string): Promise<readonly Waiting[]> {
    const own = await describe(await headOf(store, conversationId))
    const children = own.flatMap(({ childId }) => childId ?? [])
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

/** The head of a conversation. Throws `conversation.missing` when there is no such conversation. */
export async function headOf(store: Pick<ConversationStore, 'head'>, conversationId: string): Promise<ConversationInfo> {
  const head = await store.head(conversationId)
  if (!head) throw new Failure('conversation.missing', `there is no conversation ${conversationId}`)
  return head
}
