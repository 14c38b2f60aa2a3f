import type { Scope, UserOrTenant } from '../scope.ts'
import { unsafeReason } from './safety.ts'

/** The full name of a hosted file: its owner, conversation and turn, and its physical path. */
export interface ResourceName {
  readonly owner: Scope
  readonly conversationId: string
  readonly turnId: string
  /** `file` for files that the agent made, `attachment` for files that the user sent. */
  readonly stage: 'file' | 'attachment'
  readonly physicalPath: string
}

const roleOfStage = { file: 'artifact', attachment: 'user' } as const

/** Longer texts are not parsed. Every name that `formatResourceName` makes is shorter. */
const maximumLength = 8192

/**
 * The name as text: `ef:<tenant>:<project>:chatbot:<stage>:<user>:<conversation>:<turn>:<role>:<path>`. `<stage>` is `file` or
 * `attachment`. `<role>` is `artifact` for a file and `user` for an attachment. Each part is percent-encoded. Throws when a part contains
 * half of a surrogate pair, which has no UTF-8 form.
 */
export function formatResourceName({ owner, conversationId, turnId, stage, physicalPath }: ResourceName): string {
  const { tenant, project, user } = owner
  const parts = [tenant, project, 'chatbot', stage, user, conversationId, turnId, roleOfStage[stage], physicalPath]
  return `ef:${parts.map(percentEncode).join(':')}`
}

/** Parses a resource name. Undefined for every text that `formatResourceName` would not produce, so each name has exactly one spelling. */
export function parseResourceName(text: string): ResourceName | undefined {
  if (text.length > maximumLength || !text.startsWith('ef:')) return undefined
  const parts = text.slice(3).split(':').map(percentDecode)
  const [tenant, project, , stage, user, conversationId, turnId, , physicalPath] = parts
  if (parts.length !== 9 || (stage !== 'file' && stage !== 'attachment')) return undefined
  if (!tenant || !project || !user || !conversationId || !turnId || !physicalPath) return undefined
  if (unsafeReason(physicalPath) !== undefined) return undefined
  const name = { owner: { tenant, project, user }, conversationId, turnId, stage, physicalPath } as const
  return formatResourceName(name) === text ? name : undefined
}

/** Encodes all characters except letters, digits and `_ . - ~`. */
function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}

function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined // the text is not percent-encoded
  }
}

/**
 * The key of a hosted file in the object store. `<area>` is `files` or `attachments`:
 *
 *   daybook/tenants/<tenant>/projects/<project>/<area>/<user>/<conversation>/<turn>/<physical path>
 *
 * `escapePart` writes the values before the physical path. It replaces all bytes except `a-z`, `0-9`, `_` and `-` by `~` and two hex
 * digits. Therefore two different values stay different on a disk that ignores upper and lower case. Disks accept names of at most 255
 * bytes. Therefore a longer value is split into several segments, with slashes between them. Each of these segments except the last ends
 * with `~`.
 */
export function storageKey({ physicalPath, turnId, ...name }: ResourceName): string {
  return `${conversationPrefix(name)}/${escapePart(turnId)}/${physicalPath}`
}

/**
 * The common prefix of the keys of all hosted files of a conversation. `stage` says whether the files of the agent or the attachments of
 * the user are meant.
 */
export function conversationPrefix({ owner, stage, conversationId }: Pick<ResourceName, 'owner' | 'stage' | 'conversationId'>): string {
  const { tenant, project, user } = owner
  return `daybook/tenants/${escapePart(tenant)}/projects/${escapePart(project)}/${stage}s/${escapePart(user)}/${escapePart(conversationId)}`
}

/** The prefixes of the keys of all hosted files of a user or tenant. */
export function ownerPrefixes({ tenant, project, user }: UserOrTenant): readonly string[] {
  const ofTenant = `daybook/tenants/${escapePart(tenant)}`
  if (user === undefined) return [ofTenant]
  return ['files', 'attachments'].map((area) => `${ofTenant}/projects/${escapePart(project)}/${area}/${escapePart(user)}`)
}

/**
 * The common prefix of the keys of all hosted files of a turn. `stage` says whether the files of the agent or the attachments of the user
 * are meant.
 */
export const turnPrefix = (name: Omit<ResourceName, 'physicalPath'>): string => `${conversationPrefix(name)}/${escapePart(name.turnId)}`

const stageOfArea = { files: 'file', attachments: 'attachment' } as const

/** The resource name with this storage key. Undefined for every text that `storageKey` would not produce. */
export function parseStorageKey(key: string): ResourceName | undefined {
  const segments = joinLongParts(key.split('/'))
  const [root, tenants, , projects, , area] = segments
  if (root !== 'daybook' || tenants !== 'tenants' || projects !== 'projects' || (area !== 'files' && area !== 'attachments'))
    return undefined
  const [tenant, project, user, conversationId, turnId] = [2, 4, 6, 7, 8].map((at) => unescapePart(segments[at] ?? ''))
  if (!tenant || !project || !user || !conversationId || !turnId) return undefined
  const physicalPath = segments.slice(physicalPathPart).join('/')
  if (unsafeReason(physicalPath) !== undefined) return undefined
  const name = { owner: { tenant, project, user }, conversationId, turnId, stage: stageOfArea[area], physicalPath }
  return storageKey(name) === key ? name : undefined
}

const encoder = new TextEncoder()

function escapePart(text: string): string {
  let out = ''
  for (const byte of encoder.encode(text)) {
    const sign = String.fromCharCode(byte)
    out += /[a-z0-9_-]/.test(sign) ? sign : `~${byte.toString(16).padStart(2, '0')}`
  }
  return out.length <= maximumSegment ? out : (out.match(longestPieces) ?? []).join('~/')
}

const maximumSegment = 255
/**
 * Matches the pieces into which a long escaped value is split. A piece has at most 80 characters, where an escaped byte such as `~2f`
 * counts as one. So no piece ends inside an escaped byte.
 */
const longestPieces = /(?:~[0-9a-f]{2}|[a-z0-9_-]){1,80}/g

/**
 * Joins the segments of each value that `escapePart` has split. Only the first nine parts of a key can be split. The physical path follows
 * after them, and a `~` in it has no special meaning.
 */
function joinLongParts(segments: readonly string[]): readonly string[] {
  const parts: string[] = []
  let unfinished = ''
  for (const [index, segment] of segments.entries()) {
    if (parts.length === physicalPathPart) return [...parts, ...segments.slice(index)]
    if (segment.endsWith('~')) unfinished += segment.slice(0, -1)
    else {
      parts.push(unfinished + segment)
      unfinished = ''
    }
  }
  return parts
}

const physicalPathPart = 9

function unescapePart(text: string): string | undefined {
  if (!/^(?:[a-z0-9_-]|~[0-9a-f]{2})+$/.test(text)) return undefined
  try {
    return decodeURIComponent(text.replaceAll('~', '%'))
  } catch {
    return undefined // the bytes are not UTF-8
  }
}
