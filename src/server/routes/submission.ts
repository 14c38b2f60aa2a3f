import type { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { type SubmitMode, type TurnOptionsBody, TurnSubmission } from '../../core/api/turn.ts'
import { cutAt } from '../../core/cut.ts'
import { parseJson } from '../../core/json.ts'
import { isId } from '../../core/path/safety.ts'
import type { Env } from '../handler.ts'
import { bodyBytes } from '../limits/body.ts'
import { invalidRequest, RequestProblem } from '../problem.ts'

/** The message in a request to `/turns`. */
interface SubmittedMessage {
  readonly text: string
  readonly mode: z.infer<typeof SubmitMode>
  readonly options?: TurnOptionsBody
  readonly attachments: readonly { readonly name: string; readonly mime?: string; readonly content: Uint8Array }[]
}

/** Reads the message of a request, from JSON or from a form. Throws a `RequestProblem` when the message is invalid. */
export async function parseSubmission(c: Context<Env>): Promise<SubmittedMessage> {
  const type = (c.req.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/json') return requireContent(fromJson(await c.req.json()))
  if (type === 'multipart/form-data') return requireContent(await fromForm(c))
  throw new RequestProblem(415, 'request.unsupported', 'Send application/json or multipart/form-data.')
}

function requireContent(message: SubmittedMessage): SubmittedMessage {
  if (message.mode === 'followup' && message.text.trim() === '' && message.attachments.length === 0) {
    throw invalidRequest([{ path: ['text'], message: 'send a text or at least one file' }])
  }
  return message
}

function fromJson(body: unknown): SubmittedMessage {
  const parsed = TurnSubmission.safeParse(body)
  if (!parsed.success) throw invalidRequest(parsed.error.issues)
  const { text, mode, attachments, options } = parsed.data
  if (options && mode !== 'followup') throw steerWithOptions()
  const files = attachments.map(({ name, mime, base64 }, index) => {
    const content = Buffer.from(base64, 'base64')
    if (content.toString('base64') !== base64) {
      throw invalidRequest([{ path: ['attachments', index, 'base64'], message: 'must be standard base64 with padding' }])
    }
    return { name, content, ...(mime !== undefined && { mime }) }
  })
  return { text, mode, attachments: files, ...(options && { options }) }
}

const steerWithOptions = () => invalidRequest([{ path: ['options'], message: 'a steer can not have options' }])

const maxFiles = 20
const fields = new Set(['text', 'mode', 'options', 'files'])

/** Reads a form. It may have one `text`, one `mode`, one `options` (JSON), and files. */
async function fromForm(c: Context<Env>): Promise<SubmittedMessage> {
  const type = c.req.header('content-type') ?? ''
  const bytes = Buffer.from(await bodyBytes(c))
  if (countParts(bytes, type) > maxFiles + 3)
    throw invalidRequest([{ message: `a message has text, mode, options and at most ${maxFiles} files` }])
  const form = await parseFormData(bytes, type)
  const unknown = [...form.keys()].find((name) => !fields.has(name))
  if (unknown !== undefined)
    throw invalidRequest([{ path: [cutAt(unknown, 100)], message: 'unknown field; send text, mode, options and files' }])
  const files = filesIn(form)
  const mode = singleValue(form, 'mode')
  const wanted = singleValue(form, 'options')
  const body = { text: singleValue(form, 'text') ?? '', ...(mode !== undefined && { mode }) }
  const parsed = TurnSubmission.safeParse(
    wanted === undefined ? body : { ...body, options: typeof wanted === 'string' ? (parseJson(wanted) ?? null) : null },
  )
  if (!parsed.success) throw invalidRequest(parsed.error.issues)
  const { options } = parsed.data
  if (options && parsed.data.mode !== 'followup') throw steerWithOptions()
  const attachments = await Promise.all(
    files.map(async (file) => {
      return { name: file.name, content: new Uint8Array(await file.arrayBuffer()), ...(file.type !== '' && { mime: file.type }) }
    }),
  )
  return { text: parsed.data.text, mode: parsed.data.mode, attachments, ...(options && { options }) }
}

/** Counts the parts of a form by its delimiters. It runs before the form is parsed, because the parser is slow if there are many parts. */
function countParts(bytes: Buffer, type: string): number {
  const boundary = /boundary=(?:"([^"]+)"|([^\s;]+))/i
    .exec(type)
    ?.slice(1)
    .find((name) => name !== undefined)
  if (boundary === undefined) return 0 // the parser will reject a form without a boundary
  const delimiter = Buffer.from(`--${boundary}`)
  let count = 0
  for (let at = bytes.indexOf(delimiter); at >= 0 && count <= maxFiles + 4; at = bytes.indexOf(delimiter, at + delimiter.length)) count++
  return count - 1 // no part follows the last delimiter
}

async function parseFormData(bytes: Buffer<ArrayBuffer>, type: string): Promise<FormData> {
  try {
    return await new Response(bytes, { headers: { 'content-type': type } }).formData()
  } catch {
    throw invalidRequest([{ message: 'the body is not multipart/form-data' }])
  }
}

function filesIn(form: FormData): readonly File[] {
  const files = form.getAll('files').map((file) => {
    if (typeof file === 'string') throw invalidRequest([{ path: ['files'], message: 'must be files' }])
    return file
  })
  if (files.length > maxFiles) throw invalidRequest([{ path: ['files'], message: `at most ${maxFiles} files are allowed` }])
  return files
}

function singleValue(form: FormData, name: string): File | string | undefined {
  const [value, ...more] = form.getAll(name)
  if (more.length > 0) throw invalidRequest([{ path: [name], message: 'may be given once only' }])
  return value
}

/** The header `Idempotency-Key`. It may have only the characters of an id, because it becomes part of a path in the timeline. */
export function idempotencyKey(c: Context<Env>): string | undefined {
  const key = c.req.header('idempotency-key')
  if (key === undefined || (isId(key) && key.length <= 64)) return key
  throw invalidRequest([{ path: ['Idempotency-Key'], message: 'must be letters, digits, "_" and "-", at most 64 characters' }])
}
