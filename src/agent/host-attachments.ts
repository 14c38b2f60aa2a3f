import type { Attachment } from '../core/block/index.ts'
import { filePath } from '../core/path/build.ts'
import { toPhysical } from '../core/path/physical.ts'
import { parseConversationKey } from '../core/scope.ts'
import type { Hosting } from '../ports/hosting.ts'
import { rejectionFailure } from '../tools/attachments/ingest.ts'
import type { Turn } from './turn/turn.ts'

type Host = Pick<Turn, 'hosting' | 'conversationId' | 'turnId' | 'onProblem'>

/** With their handles. All of them, or the message is not taken and no handle stays: the turn is new, so every handle of it is one of these. */
export async function hostOrReject(turn: Host, attachments: readonly Attachment[], ts: string): Promise<readonly Attachment[]> {
  if (!turn.hosting || attachments.length === 0) return attachments
  const hosted: Attachment[] = []
  for (const attachment of attachments) {
    try {
      hosted.push(await hostOne(turn.hosting, turn, attachment, ts))
    } catch (error) {
      await unhost(turn)
      const { name } = attachment
      throw rejectionFailure([{ name, reason: 'store_error', message: `${name} could not be stored. Send the message again.` }], error)
    }
  }
  return hosted
}

/** With their handles, as far as they can be had: the message was accepted before, and its bytes are kept in any case. */
export async function hostIfPossible(turn: Host, attachments: readonly Attachment[], ts: string): Promise<readonly Attachment[]> {
  const { hosting } = turn
  if (!hosting) return attachments
  const attempts = attachments.map((attachment) =>
    hostOne(hosting, turn, attachment, ts).catch((error: unknown) => {
      turn.onProblem({ where: 'attachment hosting', error })
      return attachment
    }),
  )
  return Promise.all(attempts)
}

/** Takes back every handle of a turn that did not begin. */
export async function unhost({ hosting, conversationId, turnId, onProblem }: Host): Promise<void> {
  const { scope, name } = parseConversationKey(conversationId)
  await hosting?.remove(scope, name, turnId).catch((error: unknown) => onProblem({ where: 'attachment clean-up', error }))
}

async function hostOne(hosting: Hosting, { conversationId, turnId }: Host, attachment: Attachment, ts: string): Promise<Attachment> {
  const physicalPath = toPhysical(filePath(turnId, 'attachments', attachment.name))
  if (!attachment.blob || physicalPath === undefined) return attachment
  const { scope: owner, name: conversation } = parseConversationKey(conversationId)
  const file = {
    owner,
    conversation,
    turnId,
    stage: 'attachment',
    physicalPath,
    mime: attachment.mime,
    ts,
    content: attachment.blob,
  } as const
  const { key, hosted_uri, rn } = await hosting.host(file)
  return { ...attachment, key, hosted_uri, rn }
}
