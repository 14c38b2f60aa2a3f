import { z } from 'zod'

/** The code of a sign-in link. */
export const SignInBody = z.strictObject({ code: z.string().min(1).max(200).describe('The code of the sign-in link.') })
export type SignInBody = z.infer<typeof SignInBody>

/** The token that the server returns for the code of a sign-in link, and the time at which the token expires. */
export const SessionView = z.object({
  token: z.string().describe('The token.'),
  expires_at: z.string().describe('When the token expires.'),
})
export type SessionView = z.infer<typeof SessionView>
