// Sends requests to the runtime that runs this program. Each request has a connection of its own, and sends and receives one JSON text.

import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const socketPath = '/daybook/run/requests.sock'
const connectMs = 5_000

/** The content at a logical path of the conversation, as `{ ret, err }`. It never throws. */
export async function fetch_ctx(path) {
  try {
    const answer = await ask({ kind: 'fetch_ctx', path })
    return answer !== null && typeof answer === 'object' && 'ret' in answer ? answer : { ret: answer, err: null }
  } catch (error) {
    return { ret: null, err: { code: 'tool_failure', message: error.message } }
  }
}

/** Calls a tool: `tool_call('web_tools.web_search', { query }, 'why')` or `tool_call({ tool_id, params, call_reason })`. */
export async function tool_call(tool, params = {}, reason = undefined) {
  if (tool !== null && typeof tool === 'object') return tool_call(tool.tool_id ?? tool.fn, tool.params ?? {}, tool.call_reason)
  return ask({ kind: 'tool_call', toolId: tool?.tool_id ?? tool, params, ...(reason !== undefined && { reason: String(reason) }) })
}

/** An object with a function for each tool whose id begins with the alias. */
export function toolsOf(alias, ids) {
  const names = ids.filter((id) => id.startsWith(`${alias}.`)).map((id) => id.slice(alias.length + 1))
  return Object.fromEntries(
    names.map((name) => [name, Object.assign((params = {}) => tool_call(`${alias}.${name}`, params), { tool_id: `${alias}.${name}` })]),
  )
}

async function ask(request) {
  const token = readFileSync('/daybook/run/token', 'latin1')
  // This may throw. It comes before the connection is opened, because an open connection would keep the program from ending.
  const body = JSON.stringify({ token, ...pack(request) })
  const connection = await openConnection()
  const answered = readAll(connection)
  connection.end(body)
  const text = await answered
  if (text === '') throw new Error('the runtime ended the connection without an answer')
  const answer = JSON.parse(text)
  if (!answer.ok) throw new Error(answer.error)
  return unpack(answer.result)
}

async function openConnection() {
  for (const deadline = Date.now() + connectMs; ; ) {
    try {
      return await new Promise((resolve, reject) => {
        const connection = connect({ path: socketPath, allowHalfOpen: true })
        connection.once('connect', () => resolve(connection)).once('error', reject)
      })
    } catch (error) {
      if (Date.now() > deadline) throw error
      await sleep(50)
    }
  }
}

async function readAll(connection) {
  const pieces = []
  for await (const piece of connection) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

/** Bytes as JSON. */
function pack(value) {
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
    const bytes = value instanceof ArrayBuffer ? Buffer.from(value) : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    return { __type__: 'bytes', __data__: bytes.toString('base64') }
  }
  if (Array.isArray(value)) return value.map(pack)
  if (value === null || typeof value !== 'object' || typeof value.toJSON === 'function') return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, pack(each)]))
}

/** Undoes `pack`. */
function unpack(value) {
  if (Array.isArray(value)) return value.map(unpack)
  if (value === null || typeof value !== 'object') return value
  if (value.__type__ === 'bytes' && typeof value.__data__ === 'string') return new Uint8Array(Buffer.from(value.__data__, 'base64'))
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, unpack(each)]))
}
