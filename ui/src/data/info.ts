import type { AttachLimits } from '../model/attach.ts'
import { client } from './session.ts'

let limits: Promise<AttachLimits | undefined> | undefined

/**
 * The limits of the server for the files of a message. Undefined if the request fails. When the server has answered, no further request is
 * sent.
 */
export function loadAttachLimits(): Promise<AttachLimits | undefined> {
  limits ??= client.info().then(
    ({ attachments }) => ({ files: attachments.files, bytes: attachments.message_bytes }),
    () => {
      limits = undefined // the next call asks again. Until then the limits in model/attach.ts apply, and the server checks its own limits
      return undefined
    },
  )
  return limits
}
