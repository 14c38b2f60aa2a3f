import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { ModelEvent } from '../../../src/core/model-event.ts'
import type { Model, ModelRequest } from '../../../src/ports/model.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import type { Tool } from '../../../src/tools/tool.ts'

/** A message of a load test asks to note one id, which no other message has. */
export const messageText = (id: string): string => `Please note ${id}.`
export const answerText = (id: string): string => `Noted ${id}.`

const MESSAGE = /Please note ([\w-]+)\./g
const usage = { uncached: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 }

/**
 * A model that waits `delayMs` before each response. It calls the tool once for each message and then answers. It has no state, but reads in the prompt what was done,
 * so any process can continue a turn.
 */
export const loadModel = (delayMs: number): Model => ({
  name: 'load',
  window: 1_000_000,
  async *stream(request, signal): AsyncGenerator<ModelEvent> {
    if (delayMs > 0) await sleep(delayMs, undefined, { signal })
    yield { type: 'text.delta', text: request.role === 'gate' ? title : decisionOn(request) }
    yield { type: 'finish', finishReason: 'stop', modelName: 'load', usage }
  },
})

const title = '<channel:thinking>A title.</channel:thinking><channel:output>{"conversation_title":"Notes"}</channel:output>'

function decisionOn({ parts }: ModelRequest): string {
  let later = ''
  for (const part of parts.toReversed()) {
    const text = part.type === 'text' ? part.text : ''
    const message = [...text.matchAll(MESSAGE)].at(-1)
    if (message) {
      const [, id = ''] = message
      const isDone = (text.slice(message.index) + later).includes('[TOOL RESULT ')
      return isDone ? reply.answer(answerText(id)) : reply.call('notes.add', { id })
    }
    later = text + later
  }
  return reply.answer('There is nothing to note.')
}

/** The id of a message whose note a person has to approve. */
export const idToApprove = (id: string): string => `ask-${id}`

/** A tool that must not be repeated. With `effects`, it appends a line to this file: its idempotency key and the id of the message. */
export const noteTool = (effects?: string): Tool =>
  defineTool({
    id: 'notes.add',
    description: 'Notes an id. Must not be repeated.',
    params: z.object({ id: z.string().describe('what to note') }),
    approval: ({ id }) => id.startsWith('ask-'),
    run({ id }, call) {
      if (effects !== undefined) appendFileSync(effects, `${call.idempotencyKey} ${id}\n`)
      return { ok: true, ret: { noted: id } }
    },
  })
