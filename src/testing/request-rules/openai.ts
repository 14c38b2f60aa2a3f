import { parseJson } from '../../core/json.ts'
import {
  base64Bytes,
  beginsLike,
  checkTexts,
  checkTools,
  createProblems,
  type Fields,
  fieldsOf,
  isFilled,
  listOf,
  type Problems,
} from './problems.ts'

const toolRules = { name: /^[a-zA-Z0-9_-]{1,64}$/, most: 128 }
const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/**
 * The rules of `POST /v1/responses`, as its documentation ("Responses", "Function calling", "Reasoning", "Images", "Prompt caching") and its
 * error messages state them. Returns what is wrong with a request.
 */
export function responsesProblems(body: unknown): readonly string[] {
  const problems = createProblems()
  const { model, input, max_output_tokens, tools, tool_choice, prompt_cache_key } = fieldsOf(body)
  problems.require(isFilled(model), 'model', 'is required')
  problems.require(max_output_tokens === undefined || (max_output_tokens as number) >= 16, 'max_output_tokens', 'must be at least 16')
  problems.require(prompt_cache_key === undefined || String(prompt_cache_key).length <= 64, 'prompt_cache_key', 'at most 64 characters')
  problems.require(tool_choice === undefined, 'tool_choice', 'must not be set, because a change of it empties the cache')
  const items = listOf(input).map(fieldsOf)
  problems.require(items.length > 0, 'input', 'at least one item')
  const outputs = new Set(items.filter(({ type }) => type === 'function_call_output').map(({ call_id }) => call_id))
  const calls = new Set(items.filter(({ type }) => type === 'function_call').map(({ call_id }) => call_id))
  for (const [index, item] of items.entries()) checkItem(item, items[index + 1], { outputs, calls }, `input[${index}]`, problems)
  problems.require(items.at(-1)?.role !== 'assistant', 'input', 'the last item must not be of the assistant')
  const marks = items.flatMap(({ content }) => listOf(content)).filter((part) => fieldsOf(part).prompt_cache_breakpoint !== undefined)
  problems.require(marks.length <= 4, 'prompt_cache_breakpoint', `at most 4, found ${marks.length}`)
  const offered = listOf(tools).map(fieldsOf)
  checkTools(
    offered.map(({ name, description, parameters: schema }) => ({ name, description, schema })),
    toolRules,
    problems,
  )
  checkTexts(body, 'request', problems)
  problems.require(JSON.stringify(body).length <= 50_000_000, 'request', 'at most 50 MB')
  return problems.found
}

interface KnownCalls {
  readonly outputs: ReadonlySet<unknown>
  readonly calls: ReadonlySet<unknown>
}

function checkItem(item: Fields, next: Fields | undefined, { outputs, calls }: KnownCalls, place: string, problems: Problems): void {
  switch (item.type ?? 'message') {
    case 'message': {
      problems.require(['system', 'developer', 'user', 'assistant'].includes(String(item.role)), place, 'an unknown role')
      const parts = typeof item.content === 'string' ? [{ type: 'input_text', text: item.content }] : listOf(item.content).map(fieldsOf)
      problems.require(parts.length > 0, place, 'content must not be empty')
      for (const [index, part] of parts.entries()) checkInputPart(part, `${place}.content[${index}]`, problems)
      return
    }
    case 'function_call':
      problems.require(outputs.has(item.call_id), place, 'no tool output found for function call')
      problems.require(parseJson(String(item.arguments)) !== undefined, place, 'arguments must be valid JSON')
      return
    case 'function_call_output':
      problems.require(calls.has(item.call_id), place, 'no tool call found for function call output')
      return
    case 'reasoning':
      problems.require(next !== undefined && next.type !== 'reasoning', place, 'reasoning was provided without its required following item')
      problems.require(
        item.encrypted_content === undefined,
        place,
        'must have no encrypted content, because it may come from another model or account',
      )
      return
    default:
      problems.require(false, place, `an item of the type ${String(item.type)} is not allowed`)
  }
}

function checkInputPart({ type, text, image_url, file_data }: Fields, place: string, problems: Problems): void {
  if (type === 'input_text' || type === 'output_text') problems.require(isFilled(text), place, 'text content is empty')
  else if (type === 'input_image') checkDataUrl(image_url, imageTypes, place, problems)
  else if (type === 'input_file') checkDataUrl(file_data, ['application/pdf'], place, problems)
  else problems.require(false, place, `a part of the type ${String(type)} is not allowed`)
}

function checkDataUrl(url: unknown, types: readonly string[], place: string, problems: Problems): void {
  const [head = '', data = ''] = String(url).split(',')
  const type = head.replace(/^data:/, '').replace(/;base64$/, '')
  problems.require(types.includes(type), place, `${type} is not supported`)
  problems.require(base64Bytes(data) !== undefined && beginsLike(type, data), place, 'the image data does not represent a valid image')
}

/**
 * The rules of `POST /v1/chat/completions`, as OpenAI, vLLM, Ollama and Mistral state them. Where their rules differ, the strictest is
 * used. Returns what is wrong with a request.
 */
export function chatProblems(body: unknown): readonly string[] {
  const problems = createProblems()
  const { model, messages, max_tokens, tools, tool_choice } = fieldsOf(body)
  problems.require(isFilled(model), 'model', 'is required')
  problems.require(max_tokens === undefined || (max_tokens as number) > 0, 'max_tokens', 'must be above 0')
  problems.require(tool_choice === undefined, 'tool_choice', 'must not be set, because a change of it empties the cache')
  const all = listOf(messages).map(fieldsOf)
  problems.require(
    all.some(({ role }) => role === 'user'),
    'messages',
    'at least one message of the user',
  )
  problems.require(all.at(-1)?.role === 'user' || all.at(-1)?.role === 'tool', 'messages', 'must end with the user or a tool')
  for (const [index, message] of all.entries()) checkMessage(message, index, all, problems)
  const offered = listOf(tools).map((tool) => fieldsOf(fieldsOf(tool).function))
  checkTools(
    offered.map(({ name, description, parameters: schema }) => ({ name, description, schema })),
    toolRules,
    problems,
  )
  checkTexts(body, 'request', problems)
  return problems.found
}

function checkMessage(
  { role, content, tool_calls, tool_call_id }: Fields,
  index: number,
  all: readonly Fields[],
  problems: Problems,
): void {
  const place = `messages[${index}]`
  problems.require(['system', 'developer', 'user', 'assistant', 'tool'].includes(String(role)), place, 'an unknown role')
  problems.require(role !== 'system' || index === 0, place, 'the system message must be the first')
  problems.require(role === 'tool' || all[index - 1]?.role !== role, place, 'roles must alternate')
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).map(fieldsOf)
  problems.require(parts.length > 0 || tool_calls !== undefined, place, 'content must not be empty')
  for (const [at, { type, text, image_url, file }] of parts.map(fieldsOf).entries()) {
    const where = `${place}.content[${at}]`
    if (type === 'text') problems.require(isFilled(text), where, 'text content is empty')
    else if (type === 'image_url') checkDataUrl(fieldsOf(image_url).url, imageTypes, where, problems)
    else if (type === 'file') checkDataUrl(fieldsOf(file).file_data, ['application/pdf'], where, problems)
    else problems.require(false, where, `a part of the type ${String(type)} is not allowed`)
  }
  const calls = listOf(tool_calls).map(fieldsOf)
  for (const { id, function: called } of calls) {
    problems.require(/^[a-zA-Z0-9]{9}$/.test(String(id)), place, 'a tool call id must be a-z, A-Z, 0-9, with a length of 9')
    problems.require(parseJson(String(fieldsOf(called).arguments)) !== undefined, place, 'arguments must be a valid JSON object string')
    problems.require(
      all.slice(index).some((later) => later.role === 'tool' && later.tool_call_id === id),
      place,
      'a tool call without a response',
    )
  }
  const isKnown = all.slice(0, index).some((earlier) => listOf(earlier.tool_calls).some((call) => fieldsOf(call).id === tool_call_id))
  problems.require(role !== 'tool' || isKnown, place, 'a tool message without a call')
}
