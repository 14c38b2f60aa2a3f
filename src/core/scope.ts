/** The owner of a conversation. The right of access depends only on the scope, never on a path or an address of a file. */
export interface Scope {
  readonly tenant: string
  readonly project: string
  readonly user: string
}

/** The scope of a single user who runs Daybook locally. */
export const localScope: Scope = { tenant: 'local', project: 'default', user: 'local' }

/**
 * The id of a conversation in the store. It contains the scope and the name, and `parseConversationKey` reads them. In the local scope it
 * is the plain name.
 */
export function conversationKey(scope: Scope, name: string): string {
  if (isLocal(scope) && name !== '' && !name.includes('/')) return name
  return [scope.tenant, scope.project, scope.user, name].map(encodeURIComponent).join('/')
}

const isLocal = ({ tenant, project, user }: Scope) =>
  tenant === localScope.tenant && project === localScope.project && user === localScope.user

/**
 * A filter for the conversations of a scope. Keys of the local scope contain no slash. Keys of another scope begin with the prefix of this
 * scope.
 */
export function conversationKeyFilter(scope: Scope): { readonly plain: true } | { readonly prefix: string } {
  return isLocal(scope) ? { plain: true } : { prefix: conversationKey(scope, '') }
}

/**
 * The inverse of `conversationKey`. A text that `conversationKey` can not have made is taken as the name of a local conversation, so that
 * it can not refer to a conversation of another scope.
 */
export function parseConversationKey(key: string): { readonly scope: Scope; readonly name: string } {
  if (!key.includes('/')) return { scope: localScope, name: key }
  const parts = key.split('/').map(decode)
  const [tenant, project, user, name] = parts
  if (parts.length !== 4 || !tenant || !project || !user || !name) return { scope: localScope, name: key }
  const parsed = { scope: { tenant, project, user }, name }
  // Another spelling of a key is taken as the name of a local conversation.
  return conversationKey(parsed.scope, name) === key ? parsed : { scope: localScope, name: key }
}

function decode(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment)
    // This call throws for a surrogate without its other half.
    return encodeURIComponent(text) === segment ? text : undefined
  } catch {
    return undefined
  }
}
