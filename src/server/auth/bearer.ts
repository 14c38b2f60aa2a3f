import { type Authenticate, deny } from './authenticate.ts'

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

const minSecretBytes = 32 // the length that HS256 requires; a shorter secret is easier to guess
const allowedAlgorithms = { HS256: ['HS256'], EdDSA: ['EdDSA', 'Ed25519'], jwks: ['EdDSA', 'Ed25519', 'ES256', 'RS256', 'PS256'] } as const
const maxTokenLength = 8 * 1024

/**
 * Authentication by JSON Web Tokens. A token contains `tenant`, `project`, the user (`sub`) and perhaps `roles`. Only algorithms that
 * fit the key are accepted. So unsigned tokens (`none`) are rejected, and also tokens that use a public key as HMAC secret.
 */
export async function createBearerAuth(settings: BearerSettings): Promise<Authenticate> {
  const { jwtVerify, errors } = await import('jose')
  const key = await importKey(settings.key)
  const { issuer, audience } = settings
  const options = {
    algorithms: [...allowedAlgorithms[settings.key.kind]],
    requiredClaims: ['exp', 'sub'],
    clockTolerance: 5,
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  }
  return async ({ header }) => {
    const token = /^Bearer ([\w.~+/=-]+)$/i.exec(header('authorization') ?? '')?.[1]
    if (token === undefined || token.length > maxTokenLength) return unauthorized('Send an access token: Authorization: Bearer <token>.')
    try {
      const { payload } = typeof key === 'function' ? await jwtVerify(token, key, options) : await jwtVerify(token, key, options)
      const { sub: user, tenant, project, roles } = payload
      if (!isName(user) || !isName(tenant) || !isName(project)) return unauthorized('The token must carry tenant, project and sub.')
      return { ok: true, caller: { scope: { tenant, project, user }, roles: rolesIn(roles) } }
    } catch (error) {
      if (error instanceof errors.JWTExpired) return unauthorized('The token has expired.')
      if (error instanceof errors.JOSEError) return unauthorized('The token is not valid.')
      throw error // an error of the server, for example when fetching the key set; the token may be valid
    }
  }
}

const unauthorized = (title: string) => deny(401, 'token.refused', title)

async function importKey(key: TokenKey) {
  const { createRemoteJWKSet, importSPKI } = await import('jose')
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
    case 'jwks':
      return createRemoteJWKSet(new URL(key.url), { timeoutDuration: 5_000 })
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
