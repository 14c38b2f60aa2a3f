import { describe, expect, it } from 'vitest'
import { callsInText } from './call-in-text.ts'

const isTool = (name: string) => name === 'weather__today'
const rome = [{ name: 'weather__today', input: '{"city":"Rome"}' }]

describe('calls that a model wrote as text', () => {
  it.each([
    ['<tool_call>{"name": "weather__today", "arguments": {"city": "Rome"}}</tool_call>'],
    ['I look.\n<tool_call>\n{"name": "weather__today", "arguments": {"city": "Rome"}}\n</tool_call>\n'],
    ['[TOOL_CALLS][{"name": "weather__today", "arguments": {"city": "Rome"}}]'],
    ['{"name": "weather__today", "parameters": {"city": "Rome"}}'],
    ['Sure, here is the call:\n```json\n{"name": "weather__today", "arguments": {"city": "Rome"}}\n```'],
    ['{"function": {"name": "weather__today", "arguments": "{\\"city\\":\\"Rome\\"}"}}'],
    ['{"tool": "weather__today", "params": {"city": "Rome"}}'],
  ])('are read: %j', (text) => {
    expect(callsInText(text, isTool)).toEqual(rome)
  })

  it('several calls in tags', () => {
    const text = '<tool_call>{"name": "a", "arguments": {}}</tool_call><tool_call>{"name": "b"}</tool_call>'
    expect(callsInText(text, isTool)?.map(({ name }) => name)).toEqual(['a', 'b'])
  })

  it.each([
    ['It is clear in Rome.'],
    ['A person: {"name": "Ann", "arguments": ["tall"]}'],
    ['{"name": "Ann", "parameters": {}}'],
    ['Models write `<tool_call>{"name": "weather__today"}</tool_call>` for this.'],
    ['First {"name": "weather__today", "arguments": {}} and then some words.'],
  ])('are not seen in an answer: %j', (text) => {
    expect(callsInText(text, isTool)).toBeUndefined()
  })

  it('that can not be read are reported', () => {
    expect(callsInText('<tool_call>{"name": "weather__today", "argum', isTool)).toEqual([])
    expect(callsInText('[TOOL_CALLS] weather', isTool)).toEqual(undefined)
    expect(callsInText('[TOOL_CALLS] {weather', isTool)).toEqual([])
  })
})
