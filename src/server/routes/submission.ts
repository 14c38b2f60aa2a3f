import type { Context } from 'hono'
import type { Env } from '../handler.ts'
import { invalidRequest } from '../problem.ts'

/** A message as a form: `text` and `mode` at most once, and files. */
export interface SubmissionForm {
  readonly text: File | string | undefined
  readonly mode: File | string | undefined
  readonly files: readonly File[]
}

const maxFiles = 20
const fields = new Set(['text', 'mode', 'files'])

export async function parseSubmissionForm(c: Context<Env>): Promise<SubmissionForm> {
  const type = c.req.header('content-type') ?? ''
  const bytes = Buffer.from(await c.req.arrayBuffer())
  if (countParts(bytes, type) > maxFiles + 2) throw invalidRequest([{ message: `a message has text, mode and at most ${maxFiles} files` }])
  const form = await parseFormData(bytes, type)
  const stranger = [...form.keys()].find((name) => !fields.has(name))
  if (stranger !== undefined) throw invalidRequest([{ path: [stranger.slice(0, 100)], message: 'there are text, mode and files' }])
  const files = form.getAll('files').map((file) => {
    if (typeof file === 'string') throw invalidRequest([{ path: ['files'], message: 'must be files' }])
    return file
  })
  if (files.length > maxFiles) throw invalidRequest([{ path: ['files'], message: `at most ${maxFiles}` }])
  return { text: singleValue(form, 'text'), mode: singleValue(form, 'mode'), files }
}

/** Counted before it is parsed: a parser takes its time for each of them. */
function countParts(bytes: Buffer, type: string): number {
  const boundary = /boundary=(?:"([^"]+)"|([^\s;]+))/i
    .exec(type)
    ?.slice(1)
    .find((name) => name !== undefined)
  if (boundary === undefined) return 0 // the parser says what is wrong
  const mark = Buffer.from(`--${boundary}`)
  let count = 0
  for (let at = bytes.indexOf(mark); at >= 0 && count <= maxFiles + 3; at = bytes.indexOf(mark, at + mark.length)) count++
  return count - 1 // the last one closes
}

async function parseFormData(bytes: Buffer<ArrayBuffer>, type: string): Promise<FormData> {
  try {
    return await new Response(bytes, { headers: { 'content-type': type } }).formData()
  } catch {
    throw invalidRequest([{ message: 'the body is not multipart/form-data' }])
  }
}

function singleValue(form: FormData, name: string): File | string | undefined {
  const [value, ...more] = form.getAll(name)
  if (more.length > 0) throw invalidRequest([{ path: [name], message: 'once' }])
  return value
}
