import type { AttachLimits } from '../model/attach.ts'
import { client } from './session.ts'

let limits: Promise<AttachLimits | undefined> | undefined

/** The limits of the server for the files of a message. Undefined if the server does not tell them. They are asked for once. */
export function loadAttachLimits(): Promise<AttachLimits | undefined> {
  limits ??= client.info().then(
    ({ attachments }) => ({ files: attachments.files, bytes: attachments.message_bytes }),
    () => undefined, // the server refuses files that are too large by itself
  )
  return limits
}
