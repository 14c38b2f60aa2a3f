/** The owner of a conversation. Access to a conversation is decided only by its scope, and never by a path or the address of a file. */
export interface Scope {
  readonly tenant: string
  readonly project: string
  readonly user: string
}

/** A user, or all users of a tenant. */
export type UserOrTenant = Scope | { readonly tenant: string; readonly project?: undefined; readonly user?: undefined }

/** Whether a conversation belongs to a user or tenant. */
export function belongsTo(key: string, { tenant, project, user }: UserOrTenant): boolean {
  const { scope } = parseConversationKey(key)
  return scope.tenant === tenant && (user === undefined || (scope.project === project && scope.user === user))
}

/** A text that identifies a user across all tenants and projects. */
export const userKey = ({ tenant, project, user }: Scope): string => JSON.stringify([tenant, project, user])

/** The scope of a single user who runs Daybook locally. */
export const localScope: Scope = { tenant: 'local', project: 'default', user: 'local' }

/**
 * The id of a conversation in the store. It is made of the scope and the name of the conversation: `acme/web/ann/chat_1`. In the local
 * scope it is only the name, `chat_1`, if the name has no slash. `parseConversationKey` returns the scope and the name of a key.
 */
export function conversationKey(scope: Scope, name: string): string {
  if (isLocal(scope) && name !== '' && !name.includes('/')) return name
  return [scope.tenant, scope.project, scope.user, name].map(encodeURIComponent).join('/')
}

const isLocal = ({ tenant, project, user }: Scope) =>
  tenant === localScope.tenant && project === localScope.project && user === localScope.user

/**
 * Describes the keys of all conversations in a scope, for a query of the store. Keys of the local scope contain no slash (`plain`). Keys of
 * any other scope begin with `prefix`, for example `acme/web/ann/`.
 */
export function conversationKeyFilter(scope: Scope): { readonly plain: true } | { readonly prefix: string } {
  return isLocal(scope) ? { plain: true } : { prefix: conversationKey(scope, '') }
}

/** The common beginning of the keys of all conversations of a user or tenant. Undefined when the keys have no common beginning. */
export function keyPrefixOf(owner: UserOrTenant): string | undefined {
  if (owner.tenant === localScope.tenant) return undefined // keys of the local user have neither tenant nor user
  return owner.user === undefined ? `${encodeURIComponent(owner.tenant)}/` : conversationKey(owner, '')
}

/**
 * The inverse of `conversationKey`. A text that `conversationKey` would not make is read as the name of a local conversation. Therefore
 * such a text can not refer to a conversation of another scope.
 */
export function parseConversationKey(key: string): { readonly scope: Scope; readonly name: string } {
  if (!key.includes('/')) return { scope: localScope, name: key }
  const parts = key.split('/').map(decode)
  const [tenant, project, user, name] = parts
  if (parts.length !== 4 || !tenant || !project || !user || !name) return { scope: localScope, name: key }
  const parsed = { scope: { tenant, project, user }, name }
  // `conversationKey` writes each key in one form only. A text in another form, such as `local/default/local/chat_1`, is taken as the name
  // of a local conversation.
  return conversationKey(parsed.scope, name) === key ? parsed : { scope: localScope, name: key }
}

/**
 * The tenant in the key of a conversation, in its encoded form. Empty for a local conversation. Stores use it to serve the tenants one
 * after the other. Some stores compute the tenant in SQL, so it must be possible to derive it from the text of the key alone.
 */
export function tenantOfKey(key: string): string {
  const parts = key.split('/')
  return parts.length === 4 ? (parts[0] ?? '') : ''
}

/** The values that `tenantOfKey` can return for the conversations of a user or tenant. */
export const tenantKeys = ({ tenant }: UserOrTenant): readonly string[] =>
  tenant === localScope.tenant ? ['', tenant] : [encodeURIComponent(tenant)]

function decode(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment)
    // This call throws for a surrogate without its other half.
    return encodeURIComponent(text) === segment ? text : undefined
  } catch {
    return undefined
  }
}

/**
 * A part of the key of a sub-agent's conversation. It separates the key of the conversation that called the sub-agent from the id of the
 * call.
 */
export const childMark = '~call_'

/** The key of the conversation that a call of `parent` opens for a sub-agent. `id` identifies the call. */
export function childKey(parent: string, id: string): string {
  const { scope, name } = parseConversationKey(parent)
  return conversationKey(scope, `${name}${childMark}${id}`)
}

/** The common beginning of the keys of all conversations that calls of `parent` have opened for sub-agents, at any depth. */
export const childPrefix = (parent: string): string => childKey(parent, '')

/** Whether the conversation belongs to a sub-agent: a call in another conversation has opened it. */
export const isChildKey = (key: string): boolean => callerKey(key) !== undefined

/** The key of the conversation whose call has opened the conversation `key`. Undefined when it does not belong to a sub-agent. */
export function callerKey(key: string): string | undefined {
  const end = key.lastIndexOf(childMark)
  return end <= key.lastIndexOf('/') ? undefined : key.slice(0, end) // a mark before the last slash is part of the name of a user
}

/** How deep a conversation of a sub-agent is nested. It is 0 for a conversation that no call has opened. */
export const depthOf = (key: string): number => key.slice(key.lastIndexOf('/') + 1).split(childMark).length - 1
