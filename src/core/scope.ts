/** Whose a conversation is. Permission always comes from here, never from a path or a handle. */
export interface Scope {
  readonly tenant: string
  readonly project: string
  readonly user: string
}

/** Of whoever runs Daybook on a machine of their own. */
export const localScope: Scope = { tenant: 'local', project: 'default', user: 'local' }

/** What a store knows a conversation by: its scope and its name, reversibly. A local conversation is known by its plain name. */
export function conversationKey(scope: Scope, name: string): string {
  if (isLocal(scope) && name !== '' && !name.includes('/')) return name
  return [scope.tenant, scope.project, scope.user, name].map(encodeURIComponent).join('/')
}

const isLocal = ({ tenant, project, user }: Scope) =>
  tenant === localScope.tenant && project === localScope.project && user === localScope.user

/** Which keys are of a scope: those without a slash, or those that begin so. */
export function conversationKeyFilter(scope: Scope): { readonly plain: true } | { readonly prefix: string } {
  return isLocal(scope) ? { plain: true } : { prefix: conversationKey(scope, '') }
}

/** The inverse of `conversationKey`; total, so that nothing ever falls into somebody else's scope. */
export function parseConversationKey(key: string): { readonly scope: Scope; readonly name: string } {
  if (!key.includes('/')) return { scope: localScope, name: key }
  const parts = key.split('/').map(decode)
  const [tenant, project, user, name] = parts
  if (parts.length !== 4 || !tenant || !project || !user || !name) return { scope: localScope, name: key }
  const read = { scope: { tenant, project, user }, name }
  return conversationKey(read.scope, name) === key ? read : { scope: localScope, name: key } // only one spelling is a key
}

function decode(segment: string): string | undefined {
  try {
    const said = decodeURIComponent(segment)
    return encodeURIComponent(said) === segment ? said : undefined // half a character can be read, but not written
  } catch {
    return undefined // no key of ours
  }
}
