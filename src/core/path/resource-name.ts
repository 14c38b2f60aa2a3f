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

/*
 * Where the pointer of a hosted file is kept:
 *
 *   daybook/tenants/<tenant>/projects/<project>/<stage>s/<user>/<conversation>/<turn>/<path below OUT_DIR>
 *
 * Everything up to the path is written in small letters, digits, `_` and `-`; every other byte of it as `~` and two digits. So no name can
 * hold a separator, two names never share a spelling on a disk that ignores case, and no server finds something to decode in it.
 */
export function storageKey({ physicalPath, turnId, ...name }: ResourceName): string {
  return `${conversationPrefix(name)}/${escapePart(turnId)}/${physicalPath}`
}

/** The tree that holds every file of a conversation, or of one of its turns, in one stage. */
export function conversationPrefix({ owner, stage, conversation }: Pick<ResourceName, 'owner' | 'stage' | 'conversation'>): string {
  const { tenant, project, user } = owner
  return `daybook/tenants/${escapePart(tenant)}/projects/${escapePart(project)}/${stage}s/${escapePart(user)}/${escapePart(conversation)}`
}

export const turnPrefix = (name: Omit<ResourceName, 'physicalPath'>): string => `${conversationPrefix(name)}/${escapePart(name.turnId)}`

const stageOfArea = { files: 'file', attachments: 'attachment' } as const

/** The inverse; undefined for everything that `storageKey` would not have written. */
export function parseStorageKey(key: string): ResourceName | undefined {
  const [root, tenants, tenant, projects, project, area, user, conversation, turnId, ...path] = key.split('/')
  if (root !== 'daybook' || tenants !== 'tenants' || projects !== 'projects' || (area !== 'files' && area !== 'attachments'))
    return undefined
  const read = [tenant, project, user, conversation, turnId].map((part) => (part ? unescapePart(part) : undefined))
  const [t, p, u, c, n] = read
  if (!t || !p || !u || !c || !n) return undefined
  const physicalPath = path.join('/')
  if (unsafeReason(physicalPath) !== undefined) return undefined
  const name = { owner: { tenant: t, project: p, user: u }, conversation: c, turnId: n, stage: stageOfArea[area], physicalPath }
  return storageKey(name) === key ? name : undefined
}

const encoder = new TextEncoder()

function escapePart(text: string): string {
  let out = ''
  for (const byte of encoder.encode(text)) {
    const sign = String.fromCharCode(byte)
    out += /[a-z0-9_-]/.test(sign) ? sign : `~${byte.toString(16).padStart(2, '0')}`
  }
  return out
}

function unescapePart(text: string): string | undefined {
  if (!/^(?:[a-z0-9_-]|~[0-9a-f]{2})+$/.test(text)) return undefined
  try {
    return decodeURIComponent(text.replaceAll('~', '%'))
  } catch {
    return undefined // bytes that are no text
  }
}
