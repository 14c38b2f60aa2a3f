import { describe, expect, it } from 'vitest'
import { png } from '../../../test/support/sample-files/images.ts'
import { requestRules } from './index.ts'

const data = png().toString('base64')
const wide = png({ width: 9_000, height: 2 }).toString('base64')
const text = (words: string) => ({ type: 'text', text: words })
const tool = { name: 'react__read', description: 'Read.', input_schema: { type: 'object', properties: {} } }

describe('Anthropic', () => {
  const good = {
    model: 'claude',
    max_tokens: 10,
    system: [text('You.')],
    messages: [{ role: 'user', content: [text('Hi')] }],
    tools: [tool],
  }
  const withContent = (...content: readonly object[]) => ({ ...good, messages: [{ role: 'user', content }] })
  const image = (source: object) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data, ...source } })
  const call = { type: 'tool_use', id: 'a', name: 'react__read', input: {} }

  it('accepts a good request', () => {
    expect(requestRules.anthropic(good)).toEqual([])
    expect(requestRules.anthropic(withContent(text('Look'), image({})))).toEqual([])
  })

  it.each([
    ['an empty text', withContent(text('')), 'non-empty'],
    ['blanks only', withContent(text(' \n')), 'non-empty'],
    ['no content', withContent(), 'content must not be empty'],
    ['half a surrogate pair', withContent(text('a\ud83d')), 'surrogate'],
    ['five marks', withContent(...Array.from({ length: 5 }, () => ({ ...text('x'), cache_control: {} }))), 'maximum of 4'],
    ['a type of image', withContent(image({ media_type: 'image/bmp' })), 'image/bmp'],
    ['bytes that are no image', withContent(image({ data: Buffer.from('<html>').toString('base64') })), 'could not process'],
    ['a large image', withContent(image({ data: data + 'AAAA'.repeat(1_400_000) })), '5 MB'],
    ['a wide image', withContent(image({ data: wide })), '8000 pixels'],
    ['an assistant at the end', { ...good, messages: [...good.messages, { role: 'assistant', content: 'Hm' }] }, 'end with a user'],
    [
      'a call without a result',
      { ...good, messages: [...good.messages, { role: 'assistant', content: [call] }, ...good.messages] },
      'without tool_result',
    ],
    ['a result without a call', withContent({ type: 'tool_result', tool_use_id: 'a', content: 'x' }), 'unexpected tool_use_id'],
    ['thinking without a signature', withContent({ type: 'thinking', thinking: 'x' }), 'signature'],
    ['a name with a dot', { ...good, tools: [{ ...tool, name: 'react.read' }] }, 'the name must match'],
    ['a name twice', { ...good, tools: [tool, tool] }, 'every name once'],
    ['a schema that is no object', { ...good, tools: [{ ...tool, input_schema: { anyOf: [] } }] }, 'type object'],
    ['a tool choice', { ...good, tool_choice: { type: 'none' } }, 'tool_choice'],
  ])('refuses %s', (_, body, problem) => {
    expect(requestRules.anthropic(body).join('; ')).toContain(problem)
  })

  it('refuses the same id for two calls', () => {
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] }
    const messages = [...good.messages, { role: 'assistant', content: [call] }, result, { role: 'assistant', content: [call] }, result]
    expect(requestRules.anthropic({ ...good, messages })).toEqual(['messages: tool_use ids must be unique'])
  })
})

describe('OpenAI', () => {
  const user = { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }
  const good = { model: 'gpt', input: [user], max_output_tokens: 100 }
  const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }

  it('accepts a good request', () => {
    expect(requestRules.openai(good)).toEqual([])
    expect(requestRules.openai({ ...good, input: [user, call, { type: 'function_call_output', call_id: 'a', output: 'x' }] })).toEqual([])
  })

  it.each([
    ['an empty text', { ...good, input: [{ role: 'user', content: [{ type: 'input_text', text: '' }] }] }, 'empty'],
    ['a call without an output', { ...good, input: [user, call] }, 'no tool output found'],
    ['an output without a call', { ...good, input: [user, { type: 'function_call_output', call_id: 'b' }] }, 'no tool call found'],
    [
      'half-written arguments',
      {
        ...good,
        input: [
          { ...call, arguments: '{"a": ' },
          { type: 'function_call_output', call_id: 'a' },
        ],
      },
      'valid JSON',
    ],
    ['reasoning at the end', { ...good, input: [user, { type: 'reasoning', id: 'rs' }] }, 'required following item'],
    ['foreign reasoning', { ...good, input: [{ type: 'reasoning', encrypted_content: 'gAAA' }, user] }, 'another model'],
    ['too few tokens', { ...good, max_output_tokens: 8 }, 'at least 16'],
    [
      'too many tools',
      { ...good, tools: Array.from({ length: 129 }, (_, n) => ({ name: `t${n}`, parameters: { type: 'object' } })) },
      'at most 128',
    ],
    [
      'bytes that are no image',
      { ...good, input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }] }] },
      'valid image',
    ],
  ])('refuses %s', (_, body, problem) => {
    expect(requestRules.openai(body).join('; ')).toContain(problem)
  })
})

describe('chat completions', () => {
  const good = {
    model: 'qwen3',
    messages: [
      { role: 'system', content: 'You.' },
      { role: 'user', content: 'Hi' },
    ],
  }
  const called = { role: 'assistant', tool_calls: [{ id: 'abcdefghi', function: { name: 'f', arguments: '{}' } }] }

  it('accepts a good request', () => {
    expect(requestRules.compatible(good)).toEqual([])
    expect(
      requestRules.compatible({ ...good, messages: [...good.messages, called, { role: 'tool', tool_call_id: 'abcdefghi', content: 'x' }] }),
    ).toEqual([])
  })

  it.each([
    [
      'two messages of the user',
      [
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ],
      'alternate',
    ],
    [
      'an assistant at the end',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
      'must end with',
    ],
    ['an empty text', [{ role: 'user', content: '' }], 'empty'],
    ['a call without a response', [{ role: 'user', content: 'a' }, called, { role: 'user', content: 'b' }], 'without a response'],
    [
      'a response without a call',
      [
        { role: 'user', content: 'a' },
        { role: 'tool', tool_call_id: 'x', content: 'b' },
      ],
      'without a call',
    ],
    [
      'an id of another provider',
      [
        { role: 'user', content: 'a' },
        { role: 'assistant', tool_calls: [{ id: 'toolu_1', function: { arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'b' },
      ],
      'length of 9',
    ],
  ])('refuses %s', (_, messages, problem) => {
    expect(requestRules.compatible({ ...good, messages }).join('; ')).toContain(problem)
  })
})

describe('Google', () => {
  const user = { role: 'user', parts: [{ text: 'Hi' }] }
  const good = { contents: [user] }

  it('accepts a good request', () => {
    expect(requestRules.google(good)).toEqual([])
  })

  it.each([
    ['no contents', { contents: [] }, 'required'],
    ['an empty text', { contents: [{ role: 'user', parts: [{ text: '' }] }] }, 'empty'],
    ['no parts', { contents: [{ role: 'user', parts: [] }] }, 'at least one'],
    [
      'a call without a signature',
      {
        contents: [user, { role: 'model', parts: [{ functionCall: { name: 'f' } }] }, { role: 'user', parts: [{ functionResponse: {} }] }],
      },
      'thought_signature',
    ],
    [
      'a call without a response',
      { contents: [user, { role: 'model', parts: [{ functionCall: { name: 'f' }, thoughtSignature: 's' }] }, user] },
      'number of function responses',
    ],
    ['the model at the end', { contents: [user, { role: 'model', parts: [{ text: 'Hm' }] }] }, 'must end with'],
    ['a name that begins with a digit', { ...good, tools: [{ functionDeclarations: [{ name: '1a' }] }] }, 'the name must match'],
  ])('refuses %s', (_, body, problem) => {
    expect(requestRules.google(body).join('; ')).toContain(problem)
  })
})
