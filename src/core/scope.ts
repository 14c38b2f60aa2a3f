/** The owner of a conversation. Access is always checked against it, never against a path or a handle. */
export interface Scope {
  readonly tenant: string
  readonly project: string
  readonly user: string
}

/** The scope of a single user who runs Daybook locally. */
export const localScope: Scope = { tenant: 'local', project: 'default', user: 'local' }

/** The id of a conversation in the store. It encodes scope and name reversibly; in the local scope it is the plain name. */
export function conversationKey(scope: Scope, name: string): string {
  if (isLocal(scope) && name !== '' && !name.includes('/')) return name
  return [scope.tenant, scope.project, scope.user, name].map(encodeURIComponent).join('/')
}

const isLocal = ({ tenant, project, user }: Scope) =>
  tenant === localScope.tenant && project === localScope.project && user === localScope.user

/** A filter for the conversations of a scope. Keys of the local scope have no slash; keys of another scope begin with its prefix. */
export function conversationKeyFilter(scope: Scope): { readonly plain: true } | { readonly prefix: string } {
  return isLocal(scope) ? { plain: true } : { prefix: conversationKey(scope, '') }
}

/** The inverse of `conversationKey`. Any other text is the name of a local conversation, so that it never leads into another scope. */
export function parseConversationKey(key: string): { readonly scope: Scope; readonly name: string } {
  if (!key.includes('/')) return { scope: localScope, name: key }
  const parts = key.split('/').map(decode)
  const [tenant, project, user, name] = parts
  if (parts.length !== 4 || !tenant || !project || !user || !name) return { scope: localScope, name: key }
  const parsed = { scope: { tenant, project, user }, name }
  return conversationKey(parsed.scope, name) === key ? parsed : { scope: localScope, name: key } // other spellings are local names
}

function decode(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment)
    return encodeURIComponent(text) === segment ? text : undefined // `encodeURIComponent` throws for a lone surrogate
  } catch {
    return undefined
  }
}
