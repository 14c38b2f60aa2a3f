import type { Scope } from '../scope.ts'
import { unsafeReason } from './safety.ts'

/** What a hosted file is called, whole: whose it is, where it came up, and which file of OUT_DIR it is. */
export interface ResourceName {
  readonly owner: Scope
  readonly conversation: string
  readonly turnId: string
  /** Made by the agent, or sent by the user. */
  readonly stage: 'file' | 'attachment'
  readonly physicalPath: string
}

const roleOfStage = { file: 'artifact', attachment: 'user' } as const

/** Longer than any name of ours: nobody's handle is worth reading further. */
const maximumLength = 8192

/** `ef:<tenant>:<project>:chatbot:<stage>:<user>:<conversation>:<turn>:<role>:<path>`, each percent-encoded. Throws on a lone surrogate. */
export function formatResourceName({ owner, conversation, turnId, stage, physicalPath }: ResourceName): string {
  const { tenant, project, user } = owner
  const parts = [tenant, project, 'chatbot', stage, user, conversation, turnId, roleOfStage[stage], physicalPath]
  return `ef:${parts.map(percentEncode).join(':')}`
}

/** Undefined for everything that `formatResourceName` would not have written, letter by letter: a name has one spelling. */
export function parseResourceName(text: string): ResourceName | undefined {
  if (text.length > maximumLength || !text.startsWith('ef:')) return undefined
  const parts = text.slice(3).split(':').map(percentDecode)
  const [tenant, project, , stage, user, conversation, turnId, , physicalPath] = parts
  if (parts.length !== 9 || (stage !== 'file' && stage !== 'attachment')) return undefined
  if (!tenant || !project || !user || !conversation || !turnId || !physicalPath) return undefined
  if (unsafeReason(physicalPath) !== undefined) return undefined
  const name = { owner: { tenant, project, user }, conversation, turnId, stage, physicalPath } as const
  return formatResourceName(name) === text ? name : undefined
}

/** Letters, digits and `_ . - ~` stay; nothing that separates or could be decoded twice does. */
function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}

function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined // not a name of ours
  }
}
