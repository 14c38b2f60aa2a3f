import type { ResourceName } from './resource-name.ts'
import { unsafeReason } from './safety.ts'

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
