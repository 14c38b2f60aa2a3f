import { RequestRefused } from 'daybook/client'
import { chooseModel, readModel } from './model-choice.ts'
import { authorization, client, serverUrl } from './session.ts'

export interface OutgoingMessage {
  readonly text: string
  readonly mode: 'followup' | 'steer'
  readonly files: readonly File[]
  /** The server accepts a message with the same key only once, so it can be sent again after a failure. */
  readonly key: string
}

/**
 * Sends a message. Resolves when the server has stored it. `onProgress` is called with the part of the files that was sent, from 0 to 1.
 */
export async function sendMessage(id: string, message: OutgoingMessage, onProgress: (part: number) => void): Promise<void> {
  const model = message.mode === 'followup' ? readModel() : undefined
  const options = model === undefined ? undefined : { model }
  try {
    if (message.files.length > 0) return await upload(id, message, options, onProgress)
    await client.send(id, message.text, { mode: message.mode, idempotencyKey: message.key, ...(options && { options }) })
  } catch (error) {
    // The model may have been removed from the list of the server since it was chosen. In this case, the message is sent again without a
    // model, and the default model answers.
    if (!options || !isAboutModel(error)) throw error
    chooseModel(undefined)
    await sendMessage(id, message, onProgress)
  }
}

/** Sends a message with files. `fetch` does not report how much it has sent, so this function uses `XMLHttpRequest`. */
function upload(
  id: string,
  { text, files, key }: OutgoingMessage,
  options: object | undefined,
  onProgress: (part: number) => void,
): Promise<void> {
  const form = new FormData()
  form.set('text', text)
  form.set('mode', 'followup')
  if (options) form.set('options', JSON.stringify(options))
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

const isAboutModel = (error: unknown): boolean =>
  error instanceof RequestRefused && error.status === 400 && (error.problem.issues?.some(({ where }) => where === 'options.model') ?? false)

function problemIn(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {} // the response may come from a proxy, whose body is not JSON
  }
}
