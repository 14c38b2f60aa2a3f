import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { ModelEvent } from '../../../src/core/model-event.ts'
import type { Model, ModelRequest } from '../../../src/ports/model.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import type { Tool } from '../../../src/tools/tool.ts'

/** The text of a message of a load test. It asks the agent to note an id that no other message has. */
export const messageText = (id: string): string => `Please note ${id}.`
export const answerText = (id: string): string => `Noted ${id}.`

const MESSAGE = /Please note ([\w-]+)\./g
const usage = { uncached: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 }

/** With a delay, a response is written in this many pieces. */
const PIECES = 4

/** Options of `loadModel`. */
export interface LoadModelOptions {
  /** How long the model takes for each response, in milliseconds. */
  readonly delayMs: number
  /** Called when a call begins, with the name of the step that it is for. */
  readonly onCall?: (step: string) => void
}

/**
 * A model that calls the tool once for the last message and then answers. It has no state. It reads in the prompt what was already done, so
 * any process can continue a turn.
 */
export const loadModel = ({ delayMs, onCall }: LoadModelOptions): Model => ({
  name: 'load',
  window: 1_000_000,
  async *stream(request, signal): AsyncGenerator<ModelEvent> {
    const { step, text } = request.role === 'gate' ? titleFor(request) : decisionOn(request)
    onCall?.(step)
    const size = delayMs > 0 ? Math.ceil(text.length / PIECES) : text.length
    for (let at = 0; at < text.length; at += size) {
      if (delayMs > 0) await sleep(delayMs / PIECES, undefined, { signal })
      yield { type: 'text.delta', text: text.slice(at, at + size) }
    }
    yield { type: 'finish', finishReason: 'stop', modelName: 'load', usage }
  },
})

/** A response, and the name of the step that it decides. Each step of a conversation needs one response. */
interface Step {
  readonly step: string
  readonly text: string
}

/** The step that a stored response has decided. */
export const stepOf = (raw: string): string | undefined => raw.split('[step ')[1]?.split(']')[0]

const thinkingOf = (step: string): string => `[step ${step}]`

function titleFor({ cacheKey }: ModelRequest): Step {
  const step = `${cacheKey} title`
  const output = '<channel:output>{"conversation_title":"Notes"}</channel:output>'
  return { step, text: `<channel:thinking>${thinkingOf(step)}</channel:thinking>${output}` }
}

function decisionOn({ cacheKey, parts }: ModelRequest): Step {
  let later = ''
  for (const part of parts.toReversed()) {
    const text = part.type === 'text' ? part.text : ''
    // the announce is skipped, because it repeats the messages that arrived during the turn
    if (text.includes('ANNOUNCE — Iteration')) continue
    const message = [...text.matchAll(MESSAGE)].at(-1)
    if (message) {
      const [, id = ''] = message
      const isDone = (text.slice(message.index) + later).includes('[TOOL RESULT ')
      const step = `${cacheKey} ${id} ${isDone ? 'answer' : 'call'}`
      const thinking = thinkingOf(step)
      return { step, text: isDone ? reply.answer(answerText(id), { thinking }) : reply.call('notes.add', { id }, { thinking }) }
    }
    later = text + later
  }
  return { step: `${cacheKey} nothing`, text: reply.answer('There is nothing to note.') }
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
