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
  pngSize,
} from './problems.ts'

const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/**
 * The rules of `POST /v1/messages`, as its documentation ("Messages", "Tool use", "Vision", "Extended thinking", "Prompt caching") and its
 * error messages state them. Returns what is wrong with a request.
 */
export function anthropicProblems(body: unknown): readonly string[] {
  const problems = createProblems()
  const { model, max_tokens, system, messages, tools, tool_choice } = fieldsOf(body)
  problems.require(isFilled(model), 'model', 'is required')
  problems.require(Number.isInteger(max_tokens) && (max_tokens as number) > 0, 'max_tokens', 'must be a whole number above 0')
  for (const [index, block] of listOf(system).entries()) checkText(fieldsOf(block), `system[${index}]`, problems)
  checkMessages(listOf(messages).map(fieldsOf), problems)
  const offered = listOf(tools).map(fieldsOf)
  const checked = offered.map(({ name, description, input_schema: schema }) => ({ name, description, schema }))
  checkTools(checked, { name: /^[a-zA-Z0-9_-]{1,64}$/, most: 128 }, problems)
  problems.require(tool_choice === undefined, 'tool_choice', 'must not be set, because a change of it empties the cache of messages')
  const blocks = [...listOf(system), ...offered, ...listOf(messages).flatMap((message) => listOf(fieldsOf(message).content))]
  const marks = blocks.filter((block) => fieldsOf(block).cache_control !== undefined)
  problems.require(marks.length <= 4, 'cache_control', `a maximum of 4 blocks, found ${marks.length}`)
  checkImages(blocks.map(fieldsOf), problems)
  checkTexts(body, 'request', problems)
  problems.require(JSON.stringify(body).length <= 32_000_000, 'request', 'at most 32 MB')
  return problems.found
}

function checkText({ text }: Fields, place: string, problems: Problems): void {
  problems.require(isFilled(text), place, 'text content blocks must be non-empty')
}

function checkMessages(messages: readonly Fields[], problems: Problems): void {
  problems.require(messages.length > 0, 'messages', 'at least one message')
  problems.require(messages[0]?.role === 'user', 'messages[0]', 'the first message must be of the user')
  problems.require(messages.at(-1)?.role === 'user', 'messages', 'the conversation must end with a user message')
  const ids: unknown[] = []
  for (const [index, { role, content }] of messages.entries()) {
    const place = `messages[${index}]`
    problems.require(role === 'user' || role === 'assistant', place, 'the role must be user or assistant')
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).map(fieldsOf)
    problems.require(blocks.length > 0, place, 'content must not be empty')
    for (const [at, block] of blocks.entries()) checkBlock(block, `${place}.content[${at}]`, problems)
    const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
    const results = blocks.filter(({ type }) => type === 'tool_result').map(({ tool_use_id }) => tool_use_id)
    const before = listOf(messages[index - 1]?.content).map(fieldsOf)
    const called = before.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
    problems.require(
      called.every((id) => results.includes(id)),
      place,
      'tool_use ids were found without tool_result blocks',
    )
    problems.require(
      results.every((id) => called.includes(id)),
      place,
      'unexpected tool_use_id found in tool_result blocks',
    )
    ids.push(...calls)
  }
  const last = listOf(messages.at(-1)?.content).map(fieldsOf)
  problems.require(!last.some(({ type }) => type === 'tool_use'), 'messages', 'tool_use ids were found without tool_result blocks')
  problems.require(new Set(ids).size === ids.length, 'messages', 'tool_use ids must be unique')
}

function checkBlock(block: Fields, place: string, problems: Problems): void {
  const source = fieldsOf(block.source)
  switch (block.type) {
    case 'text':
      checkText(block, place, problems)
      return
    case 'image':
      problems.require(imageTypes.includes(String(source.media_type)), place, `${String(source.media_type)} is not supported`)
      problems.require(base64Bytes(source.data) !== undefined, place, 'the image is not base64')
      problems.require(String(source.data).length <= 5_242_880, place, 'image exceeds 5 MB maximum')
      problems.require(beginsLike(String(source.media_type), String(source.data)), place, 'could not process image')
      return
    case 'document':
      problems.require(source.type !== 'base64' || source.media_type === 'application/pdf', place, 'only PDF documents are supported')
      problems.require(source.type !== 'base64' || base64Bytes(source.data) !== undefined, place, 'the document is not base64')
      return
    case 'thinking':
      problems.require(isFilled(block.signature), place, 'invalid signature in thinking block')
      return
    case 'tool_use':
      problems.require(typeof block.input === 'object' && block.input !== null, place, 'the input must be an object')
      return
    case 'tool_result':
      return
    default:
      problems.require(false, place, `a block of the type ${String(block.type)} is not allowed`)
  }
}

function checkImages(blocks: readonly Fields[], problems: Problems): void {
  const images = blocks.filter(({ type }) => type === 'image').map(({ source }) => String(fieldsOf(source).data))
  problems.require(images.length <= 100, 'images', 'at most 100')
  const most = images.length > 20 ? 2_000 : 8_000
  for (const image of images) {
    const size = pngSize(image)
    problems.require(!size || Math.max(size.width, size.height) <= most, 'images', `image dimensions exceed ${most} pixels`)
  }
}
