import { RequestRefused } from 'daybook/client'
import { authorization, client, serverUrl } from './session.ts'

export interface OutgoingMessage {
  readonly text: string
  readonly mode: 'followup' | 'steer'
  readonly files: readonly File[]
  /** The server accepts a message with the same key only once, so it can be sent again after a failure. */
  readonly key: string
}

/** Sends a message. Resolves when the server has stored it. `onProgress` tells the part of the files that was sent. */
export async function sendMessage(id: string, message: OutgoingMessage, onProgress: (part: number) => void): Promise<void> {
  if (message.files.length === 0) await client.send(id, message.text, { mode: message.mode, idempotencyKey: message.key })
  else await upload(id, message, onProgress)
}

/** Sends a message with files. `fetch` can not tell how much it has sent, so this uses the older interface. */
function upload(id: string, { text, files, key }: OutgoingMessage, onProgress: (part: number) => void): Promise<void> {
  const form = new FormData()
  form.set('text', text)
  form.set('mode', 'followup')
  for (const file of files) form.append('files', file, file.name)
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', new URL(`v1/conversations/${encodeURIComponent(id)}/turns`, serverUrl))
    request.setRequestHeader('idempotency-key', key)
    const bearer = authorization()
    if (bearer !== undefined) request.setRequestHeader('authorization', bearer)
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total)
    request.onerror = () => reject(new Error('The server could not be reached. The message was kept; send it again.'))
    request.onload = () => {
      if (request.status < 300) resolve()
      else reject(new RequestRefused(request.status, problemIn(request.responseText)))
    }
    request.send(form)
  })
}

function problemIn(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {} // the response may come from a proxy, whose body is not JSON
  }
}
