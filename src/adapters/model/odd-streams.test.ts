import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ask, requestOf, text } from '../../../test/support/models/provider-models.ts'
import type { ModelEvent } from '../../core/model-event.ts'
import type { RequestTool } from '../../ports/model.ts'
import { modelFrom } from './model-from.ts'

const tools: readonly RequestTool[] = [{ name: 'weather__today', description: 'The weather.', schema: { type: 'object', properties: {} } }]

/** The events of a response whose HTTP body has exactly these frames, sent in pieces of 7 bytes. */
async function eventsOf(model: string, frames: readonly (object | string)[]): Promise<readonly ModelEvent[]> {
  const body = Buffer.from(frames.map((frame) => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`).join(''))
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let at = 0; at < body.length; at += 7) response.write(body.subarray(at, at + 7))
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    return await ask(modelFrom(model, { address, key: 'k' }), requestOf([text('Hello')], { tools }))
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

/** What a response says: its text, its calls as `name arguments`, and how it ended. */
function summary(events: readonly ModelEvent[]) {
  const calls: string[] = []
  let words = ''
  let end = ''
  for (const event of events) {
    if (event.type === 'text.delta') words += event.text
    else if (event.type === 'call.start') calls[event.index] = `${event.name} `
    else if (event.type === 'call.delta') calls[event.index] += event.text
    else if (event.type === 'finish') end = event.finishReason
    else if (event.type === 'error') end = `error ${event.error.kind}`
  }
  return { words, calls, end }
}

const rome = '{"city":"Rome"}'

describe('a server with chat completions', () => {
  const chunk = (delta: unknown, finish_reason: string | null = null) => ({
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'qwen3',
    choices: [{ index: 0, delta, finish_reason }],
  })
  const call = (more: object) => chunk({ tool_calls: [{ index: 0, id: 'c0', type: 'function', ...more }] })
  const weather = { function: { name: 'weather__today', arguments: rome } }
  const ended = [chunk({}, 'tool_calls'), '[DONE]']
  const said = { words: 'Hi ✓.', calls: [], end: 'stop' }
  const called = { words: '', calls: [`weather__today ${rome}`], end: 'stop' }
  const summaryOf = async (...frames: readonly (object | string)[]) => summary(await eventsOf('compatible/qwen3', frames))

  it('may send the arguments of a call as an object', async () => {
    const frames = [call({ function: { name: 'weather__today', arguments: { city: 'Rome' } } }), ...ended]
    expect(await summaryOf(...frames)).toEqual(called)
  })

  it('may send ids as numbers and indexes as texts', async () => {
    expect(await summaryOf(call({ ...weather, id: 7, index: '0' }), ...ended)).toEqual(called)
  })

  it('may end a response without a finish reason, if it says that the response is complete', async () => {
    expect(await summaryOf(chunk({ content: 'Hi ✓.' }), '[DONE]')).toEqual(said)
    expect(await summaryOf(call(weather), '[DONE]')).toEqual(called)
    expect((await summaryOf(chunk({ content: 'Hi ✓.' }))).end).toMatch(/^error/)
    expect((await summaryOf('[DONE]')).end).toMatch(/^error/)
  })

  it('may send events of another kind, and chunks without choices', async () => {
    const frames = [
      { hello: 1 },
      { id: 'x', choices: null },
      chunk({ content: 'Hi ✓.' }),
      chunk(null),
      chunk({}, 'stop'),
      { object: 'meta' },
    ]
    expect(await summaryOf(...frames, '[DONE]')).toEqual(said)
  })

  it('may report nonsense as usage: the answer is not lost', async () => {
    for (const usage of [{ prompt_tokens: '5', completion_tokens: 1 }, 'none', { prompt_tokens_details: { cached_tokens: 'x' } }, []])
      expect(await summaryOf(chunk({ content: 'Hi ✓.' }), chunk({}, 'stop'), { choices: [], usage }, '[DONE]')).toEqual(said)
  })

  it('may report an error in the stream, and may send what is not JSON', async () => {
    const error = { error: { message: 'out of memory', type: 'server_error', code: 500 } }
    expect((await summaryOf(chunk({ content: 'H' }), error, '[DONE]')).end).toMatch(/^error/)
    expect((await summaryOf(chunk({ content: 'H' }), '{"not json', '[DONE]')).end).toBe('error malformed_response')
  })
})

describe('Anthropic', () => {
  const start = {
    type: 'message_start',
    message: { id: 'm', type: 'message', role: 'assistant', model: 'c', content: [], usage: { input_tokens: 5, output_tokens: 1 } },
  }
  const block = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block })
  const delta = (index: number, more: object) => ({ type: 'content_block_delta', index, delta: more })
  const stop = (index: number) => ({ type: 'content_block_stop', index })
  const ended = [
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ]
  const weather = { type: 'tool_use', id: 't', name: 'weather__today', input: {} }

  it('may add kinds of events, blocks and deltas: they are ignored', async () => {
    const events = await eventsOf('anthropic/claude-sonnet-5-5', [
      start,
      { type: 'weather_report', data: 1 },
      block(0, { type: 'hologram', data: 'x' }),
      delta(0, { type: 'hologram_delta', data: 'y' }),
      stop(0),
      block(1, weather),
      delta(1, { type: 'hologram_delta', data: 'y' }),
      delta(1, { type: 'input_json_delta', partial_json: rome }),
      stop(1),
      ...ended,
    ])
    expect(summary(events)).toEqual({ words: '', calls: [`weather__today ${rome}`], end: 'stop' })
  })

  it('a call that can not be read is not ignored', async () => {
    const events = await eventsOf('anthropic/claude-sonnet-5-5', [start, block(0, { ...weather, name: null }), stop(0), ...ended])
    expect(summary(events).end).toBe('error malformed_response')
  })
})
