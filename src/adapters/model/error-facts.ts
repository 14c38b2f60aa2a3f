import { isObject, parseJson } from '../../core/json.ts'

/** What an error says of itself, whichever library made it: an answer of the provider, an error inside its stream, a broken line. */
export interface ErrorFacts {
  /** The error's own class. */
  readonly name: string
  readonly message: string
  readonly status?: number
  /** The provider's words for it: a class of errors, and the one error. */
  readonly type?: unknown
  readonly code?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** What the network said: `ECONNREFUSED`. */
  readonly network?: string
}

export function readErrorFacts(error: unknown): ErrorFacts {
  const outer = isObject(error) ? error : {}
  const body = outer.data ?? (typeof outer.responseBody === 'string' ? parseJson(outer.responseBody) : undefined)
  const said = innermostError(body)
  const network = networkCode(error)
  return {
    name: typeof outer.name === 'string' ? outer.name : 'Error',
    message: nonEmptyText(said.message) ?? nonEmptyText(outer.message) ?? String(error),
    type: said.type ?? said.status ?? outer.type,
    code: said.code ?? outer.code,
    ...(typeof outer.statusCode === 'number' && { status: outer.statusCode }),
    ...(isObject(outer.responseHeaders) && { headers: outer.responseHeaders as Record<string, string> }),
    ...(body !== undefined && { body }),
    ...(network !== undefined && { network }),
  }
}

/** `{error: {…}}` within `{response: {…}}` within `[…]`: providers wrap what they say. */
function innermostError(body: unknown): Readonly<Record<string, unknown>> {
  const first = Array.isArray(body) ? body[0] : body
  if (!isObject(first)) return {}
  const inner = isObject(first.error) ? first.error : isObject(first.response) ? first.response : undefined
  return inner ? innermostError(inner) : first
}

const nonEmptyText = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? value : undefined)

/** Down the chain of causes, which may be as long as it likes. */
function networkCode(error: unknown): string | undefined {
  let current = error
  for (let depth = 0; depth < 8 && isObject(current); depth++) {
    if (typeof current.code === 'string' && /^(?:E[A-Z]{3,}|UND_ERR_\w+)$/.test(current.code)) return current.code
    if (current.message === 'terminated') return networkCode(current.cause) ?? 'terminated'
    current = current.cause
  }
  return undefined
}
