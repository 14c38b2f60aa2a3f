import { z } from 'zod'
import type { Agent } from '../../agent/agent-interface.ts'
import type { TurnResult } from '../../agent/turn/result.ts'
import { ConversationId } from '../../core/api/conversation.ts'
import { cutAt } from '../../core/cut.ts'
import { conversationKey } from '../../core/scope.ts'
import type { Caller } from '../auth/authenticate.ts'
import { blocksFor } from '../auth/viewer.ts'
import type { ServerSettings } from '../settings.ts'

/** The result of a tool, in the form of the protocol. */
export interface McpToolResult {
  readonly [key: string]: unknown
  content: { type: 'text'; text: string }[]
  structuredContent?: Record<string, unknown>
  isError?: boolean
}

/** The caller, and the parts of the server that the tools need. */
export interface McpToolParts {
  readonly agent: Pick<Agent, 'run' | 'archive'>
  readonly caller: Caller
  readonly settings: Pick<ServerSettings, 'userThinking'>
  readonly newId: () => string
  /**
   * Called before a turn starts. Throws when the caller has too many turns. The returned function is called when the turn is running or
   * could not start.
   */
  beginTurn(key: string): Promise<() => void>
}

/** The parts of a call besides its parameters. */
interface McpToolCall {
  readonly signal: AbortSignal
  onProgress(text: string): void
}

const MAX_TEXT = 100_000
const conversation = ConversationId.describe('the name of a conversation, as `ask` and `search_memory` return it')

const askParams = z.strictObject({
  message: z.string().min(1).max(MAX_TEXT).describe('what to ask the agent'),
  conversation: conversation.optional().describe('the conversation to continue. Without it, a new one begins'),
})
const readParams = z.strictObject({
  conversation,
  path: z.string().min(1).max(1_000).describe('a path such as ar:turn_1.assistant.completion, as search_memory returns it'),
})
const searchParams = z.strictObject({
  query: z.string().min(1).max(512).describe('what to look for; names and rare words help most'),
  conversation: conversation.optional().describe('search only this conversation. Without it, all conversations of the user'),
  limit: z.int().min(1).max(50).default(5).describe('how many hits'),
})

/** A tool that Daybook offers to other programs. Its parameters are checked before `run` is called. */
export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly params: z.ZodObject
  readonly annotations: { readonly readOnlyHint: boolean }
  run(params: unknown, call: McpToolCall): Promise<McpToolResult>
}

/**
 * The tools that other programs get over MCP. The key of every conversation contains the scope of the caller, so that no parameter can
 * access data of another user.
 */
export function offeredTools({ agent, caller, settings, newId, beginTurn }: McpToolParts): readonly OfferedTool[] {
  const keyOf = (name: string) => conversationKey(caller.scope, name)
  return [
    {
      name: 'ask',
      description: 'Asks the agent and waits for its answer. The agent can use its own tools. Continue a conversation by its name.',
      params: askParams,
      annotations: { readOnlyHint: false },
      async run(params, { signal, onProgress }) {
        const { message, conversation: name = newId() } = askParams.parse(params)
        const begun = await beginTurn(keyOf(name))
        try {
          const turn = agent.run(keyOf(name), message, { signal })
          for await (const event of turn) {
            begun()
            if (event.type === 'status') onProgress([event.tool_id ?? event.status, event.text].filter(Boolean).join(': '))
          }
          return answerOf(name, await turn.result)
        } finally {
          begun()
        }
      },
    },
    {
      name: 'read_path',
      description: 'Reads what a conversation has at a path: a message, an answer, a result of a tool or a text file.',
      params: readParams,
      annotations: { readOnlyHint: true },
      async run(params) {
        const { conversation: name, path } = readParams.parse(params)
        const blocks = blocksFor(caller, await agent.archive.read(keyOf(name), path), settings)
        const text = blocks.findLast((block) => block.text !== undefined)?.text
        return text === undefined ? failure(`There is no text at ${path} in ${name}.`) : textResult(cutAt(text, MAX_TEXT))
      },
    },
    {
      name: 'search_memory',
      description: 'Searches what was said in earlier conversations. Each hit has a conversation and a path for read_path.',
      params: searchParams,
      annotations: { readOnlyHint: true },
      async run(params) {
        const { query, conversation: name, limit } = searchParams.parse(params)
        const key = name === undefined ? {} : { key: keyOf(name) }
        const hits = await agent.archive.recall({ text: query, scope: caller.scope, limit, ...key })
        return structured({ hits: hits.map(({ turnId: turn_id, ...hit }) => ({ ...hit, turn_id })) })
      },
    },
  ]
}

function answerOf(conversation: string, { answer, exitReason, turnId, files, waits }: TurnResult): McpToolResult {
  const waiting = waits?.map(({ kind, question, callId }) => ({ kind, question, call_id: callId }))
  const made = files?.map(({ filename, mime, size }) => ({ filename, mime, size }))
  return {
    ...structured({
      conversation,
      turn_id: turnId,
      exit_reason: exitReason,
      answer,
      ...(made?.length && { files: made }),
      ...(waiting?.length && { waiting }),
    }),
    ...(exitReason === 'error' && { isError: true }),
  }
}

/** A result with structured content. The same value is also included as text, for clients that do not read structured content. */
const structured = (value: Record<string, unknown>): McpToolResult => ({ ...textResult(JSON.stringify(value)), structuredContent: value })
const textResult = (text: string): McpToolResult => ({ content: [{ type: 'text', text }] })
export const failure = (text: string): McpToolResult => ({ ...textResult(text), isError: true })
