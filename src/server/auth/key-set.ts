import { createLocalJWKSet, errors, type FlattenedJWSInput, type JWSHeaderParameters, type LocalJWKSet } from 'jose'
import { errorMessage } from '../../core/failure.ts'
import { type KeySetTimes, KeySetUnavailable } from './authenticate.ts'

export const defaultKeySetTimes: KeySetTimes = { fetch: 5_000, fresh: 10 * 60_000, usable: 24 * 60 * 60_000, pause: 10_000 }

const maxBytes = 1024 * 1024

/**
 * Finds the key that a token was signed with. Throws `KeySetUnavailable` if the keys can not be fetched. Throws an error of the package
 * jose if no key fits the token.
 */
export type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => ReturnType<LocalJWKSet>

/**
 * A key set (JWKS) at a URL. If the URL fails or does not answer, the keys of the last successful fetch are used. They are also used while
 * the keys are fetched again. A request waits for a fetch only if its token has an unknown key, or if there are no usable keys.
 */
export function createKeySet(url: URL, times: KeySetTimes = defaultKeySetTimes, nowMs: () => number = Date.now): FindKey {
  let keys: { readonly find: LocalJWKSet; readonly fetchedAt: number } | undefined
  let failure: { readonly error: unknown; readonly at: number } | undefined
  let fetching: Promise<void> | undefined

  /**
   * Fetches the keys. The promise never rejects. After a failure, the error is in `failure`. If a fetch is already running, its promise is
   * returned.
   */
  const refresh = (): Promise<void> => {
    fetching ??= fetchKeys(url, times.fetch)
      .then((find) => {
        keys = { find, fetchedAt: nowMs() }
        failure = undefined
      })
      .catch((error: unknown) => {
        failure = { error, at: nowMs() }
      })
      .finally(() => {
        fetching = undefined
      })
    return fetching
  }
  const isWithin = (at: number | undefined, duration: number) => at !== undefined && nowMs() - at < duration
  const usableKeys = () => (isWithin(keys?.fetchedAt, times.usable) ? keys?.find : undefined)
  const mayFetch = () => !isWithin(failure?.at, times.pause)
  const unavailable = (cause = failure?.error) =>
    new KeySetUnavailable(`the keys at ${url.origin} can not be used: ${errorMessage(cause)}`, { cause })

  return async (header, token) => {
    if (usableKeys() === undefined) {
      if (mayFetch()) await refresh()
    } else if (!isWithin(keys?.fetchedAt, times.fresh) && mayFetch()) void refresh() // until it has succeeded, the old keys are used
    const find = usableKeys()
    if (!find) throw unavailable()
    try {
      return await find(header, token)
    } catch (error) {
      if (error instanceof errors.JWKSMultipleMatchingKeys) throw error
      // the key set has the key of this token, but in a form that can not be used
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw unavailable(error)
      if (isWithin(keys?.fetchedAt, times.pause)) throw error // the keys were fetched a moment ago, so the issuer has no such key
    }
    if (mayFetch()) await refresh()
    if (failure) throw unavailable() // the fetch failed, so the token may be signed with a new key of the issuer
    return (usableKeys() ?? find)(header, token)
  }
}

async function fetchKeys(url: URL, timeoutMs: number): Promise<LocalJWKSet> {
  const headers = { accept: 'application/jwk-set+json, application/json' }
  const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`the response has status ${response.status}`)
  }
  const set: unknown = JSON.parse(await readLimited(response))
  const find = createLocalJWKSet(set as Parameters<typeof createLocalJWKSet>[0]) // throws if `set` is not a key set
  if (find.jwks().keys.length === 0) throw new Error('the key set has no keys')
  return find
}

async function readLimited(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw new Error(`the response has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
