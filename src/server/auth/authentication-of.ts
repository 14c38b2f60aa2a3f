import type { ServerSettings } from '../settings.ts'
import { type Authenticate, createLocalAuth } from './authenticate.ts'
import { createBearerAuth } from './bearer.ts'

/** The authentication that the settings ask for. */
export async function authenticationOf({ auth, origins }: Pick<ServerSettings, 'auth' | 'origins'>): Promise<Authenticate> {
  return auth.kind === 'local' ? createLocalAuth(origins) : createBearerAuth(auth)
}
