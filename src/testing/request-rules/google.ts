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

const mediaTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif', 'application/pdf']

/**
 * The rules of `POST /v1beta/models/<model>:streamGenerateContent`, as its documentation ("Generating content", "Function calling", "Thought
 * signatures", "Image understanding") and its error messages state them. Returns what is wrong with a request.
 */
export function googleProblems(body: unknown): readonly string[] {
  const problems = createProblems()
  const { contents, systemInstruction, tools, toolConfig } = fieldsOf(body)
  const turns = listOf(contents).map(fieldsOf)
  problems.require(turns.length > 0, 'contents', 'contents are required')
  problems.require(turns.at(-1)?.role === 'user', 'contents', 'must end with a turn of the user')
  for (const [index, turn] of turns.entries()) checkTurn(turn, turns[index - 1], `contents[${index}]`, problems)
  for (const part of listOf(fieldsOf(systemInstruction).parts))
    problems.require(isFilled(fieldsOf(part).text), 'systemInstruction', 'text is empty')
  problems.require(toolConfig === undefined, 'toolConfig', 'must not be set, because a change of it empties the cache')
  const declared = listOf(tools).flatMap((tool) => listOf(fieldsOf(tool).functionDeclarations).map(fieldsOf))
  const checked = declared.map(({ name, description, parameters, parametersJsonSchema }) => ({
    name,
    description,
    schema: parametersJsonSchema ?? parameters ?? { type: 'object' },
  }))
  checkTools(checked, { name: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/, most: 512 }, problems)
  checkTexts(body, 'request', problems)
  problems.require(JSON.stringify(body).length <= 20_000_000, 'request', 'at most 20 MB')
  return problems.found
}

function checkTurn({ role, parts }: Fields, before: Fields | undefined, place: string, problems: Problems): void {
  problems.require(role === 'user' || role === 'model', place, 'the role must be user or model')
  const all = listOf(parts).map(fieldsOf)
  problems.require(all.length > 0, place, 'must include at least one parts field')
  for (const [index, part] of all.entries()) checkPart(part, `${place}.parts[${index}]`, problems)
  const calls = listOf(before?.parts).filter((part) => fieldsOf(part).functionCall !== undefined)
  const responses = all.filter(({ functionResponse }) => functionResponse !== undefined)
  problems.require(calls.length === responses.length, place, 'the number of function responses must equal the number of function calls')
}

function checkPart(
  { text, inlineData, functionCall, functionResponse, thoughtSignature }: Fields,
  place: string,
  problems: Problems,
): void {
  if (text !== undefined) problems.require(isFilled(text), place, 'text is empty')
  else if (inlineData !== undefined) {
    const { mimeType, data } = fieldsOf(inlineData)
    problems.require(mediaTypes.includes(String(mimeType)), place, `${String(mimeType)} is not supported`)
    problems.require(base64Bytes(data) !== undefined && beginsLike(String(mimeType), String(data)), place, 'unable to process input image')
  } else if (functionCall !== undefined) problems.require(isFilled(thoughtSignature), place, 'function call is missing a thought_signature')
  else problems.require(functionResponse !== undefined, place, 'a part without data')
}
