import type { JWTVerifyOptions, JWTVerifyResult } from 'jose'
import { type Authenticate, createLocalAuth, deny, type KeySetTimes, KeySetUnavailable } from './authenticate.ts'
import type { FindKey } from './key-set.ts'

/** The key with which a server verifies tokens. */
export type TokenKey =
  | { readonly kind: 'HS256'; readonly secret: string }
  /** `publicKey` has the format SPKI, encoded as PEM. */
  | { readonly kind: 'EdDSA'; readonly publicKey: string }
  | { readonly kind: 'jwks'; readonly url: string }

/** Which tokens a server accepts. */
export interface BearerSettings {
  readonly key: TokenKey
  readonly issuer?: string
  readonly audience?: string
}

/** How a server authenticates its clients: every program on this machine, or clients with a token. */
export type AuthSettings = { readonly kind: 'local' } | ({ readonly kind: 'bearer' } & BearerSettings)

/**
 * The authentication for the settings of a server. With `kind: 'local'`, the server asks for no token, and web pages from the origins in
 * `origins` may also call it. With `kind: 'bearer'`, `origins` is not used here.
 */
export async function authenticationOf({ auth, origins }: { readonly auth: AuthSettings; readonly origins: readonly string[] }) {
  return auth.kind === 'local' ? createLocalAuth(origins) : createBearerAuth(auth)
}

const minSecretBytes = 32 // the length that HS256 requires. A shorter secret is easier to guess
const allowedAlgorithms = { HS256: ['HS256'], EdDSA: ['EdDSA', 'Ed25519'], jwks: ['EdDSA', 'Ed25519', 'ES256', 'RS256', 'PS256'] } as const
const maxTokenLength = 8 * 1024
/** How many seconds a token is still accepted after its expiry. The clocks of the issuer and of the server may differ. */
const toleranceSeconds = 5

/**
 * Authentication by JSON Web Tokens. A token contains `tenant`, `project`, the user (`sub`) and perhaps `roles`. Only algorithms that
 * fit the key are accepted. So unsigned tokens (`none`) are rejected, and also tokens that use a public key as HMAC secret.
 */
export async function createBearerAuth(settings: BearerSettings, times?: KeySetTimes): Promise<Authenticate> {
  const { errors } = await import('jose')
  const verify = await createVerifier(settings.key, times)
  const { issuer, audience } = settings
  const options = {
    algorithms: [...allowedAlgorithms[settings.key.kind]],
    requiredClaims: ['exp', 'sub'],
    clockTolerance: toleranceSeconds,
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  }
  return async ({ header }) => {
    const token = /^Bearer ([\w.~+/=-]+)$/i.exec(header('authorization') ?? '')?.[1]
    if (token === undefined || token.length > maxTokenLength) return unauthorized('Send an access token: Authorization: Bearer <token>.')
    try {
      const { payload } = await verify(token, options)
      const { sub: user, tenant, project, roles, exp = 0 } = payload // `exp` is always set, because `verify` rejects tokens without it
      if (!isName(user) || !isName(tenant) || !isName(project)) return unauthorized('The token must carry tenant, project and sub.')
      const expiresAtMs = (exp + toleranceSeconds) * 1000
      return { ok: true, caller: { scope: { tenant, project, user }, roles: rolesIn(roles), expiresAtMs } }
    } catch (error) {
      if (error instanceof errors.JWTExpired) return unauthorized('The token has expired.')
      if (error instanceof errors.JOSEError) return unauthorized('The token is not valid.')
      if (error instanceof KeySetUnavailable) {
        const title = 'The server can not check tokens at the moment; try again soon.'
        return { ok: false, status: 503, code: 'auth.unavailable', title, cause: error }
      }
      throw error
    }
  }
}

const unauthorized = (title: string) => deny(401, 'token.refused', title)

type Verify = (token: string, options: JWTVerifyOptions) => Promise<Pick<JWTVerifyResult, 'payload'>>

async function createVerifier(key: TokenKey, times: KeySetTimes | undefined): Promise<Verify> {
  const { jwtVerify } = await import('jose')
  if (key.kind === 'jwks') {
    const { createKeySet } = await import('./key-set.ts')
    return verifyWithKeySet(createKeySet(new URL(key.url), times))
  }
  const imported = await importKey(key)
  return (token, options) => jwtVerify(token, imported, options)
}

/**
 * Makes a function that verifies a token with the key that matches the header of the token. If the header names no key and several keys
 * match, each of them is tried.
 */
async function verifyWithKeySet(findKey: FindKey): Promise<Verify> {
  const { jwtVerify, errors } = await import('jose')
  return async (token, options) => {
    try {
      return await jwtVerify(token, findKey, options)
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      for await (const candidate of error) {
        try {
          return await jwtVerify(token, candidate, options)
        } catch (wrong) {
          if (!(wrong instanceof errors.JWSSignatureVerificationFailed)) throw wrong
        }
      }
      throw new errors.JWSSignatureVerificationFailed()
    }
  }
}

async function importKey(key: Exclude<TokenKey, { readonly kind: 'jwks' }>) {
  const { importSPKI } = await import('jose')
  switch (key.kind) {
    case 'HS256': {
      const secret = new TextEncoder().encode(key.secret)
      if (secret.byteLength < minSecretBytes) throw new RangeError(`the token secret must have at least ${minSecretBytes} bytes`)
      return secret
    }
    case 'EdDSA':
      return importSPKI(key.publicKey, 'EdDSA').catch((cause: unknown) => {
        const begin = '-----BEGIN PUBLIC KEY-----'
        throw new RangeError(`auth.publicKey must be an Ed25519 public key in PEM format (it begins with ${begin})`, { cause })
      })
    default:
      return key satisfies never
  }
}

const isName = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= 256 && value.isWellFormed()

/** The roles in the claim `roles` of a token. Some issuers write a list of names, others one text with spaces between the names. */
function rolesIn(value: unknown): readonly string[] {
  const names: readonly unknown[] = Array.isArray(value) ? value : typeof value === 'string' ? value.split(' ') : []
  return names.filter(isName)
}
