import { SignJWT } from 'jose'
import { afterEach, describe, expect, it } from 'vitest'
import { closeServers, openServer } from '../../../../test/support/server-fixture.ts'
import { createClient } from '../../../client/client.ts'
import { scriptedModel } from '../../../testing/scripted-model.ts'

afterEach(closeServers)

describe('what a server says about itself', () => {
  it('has its version, the models that a message can choose, and the limits of attachments', async () => {
    const { client } = await openServer({
      models: { fast: scriptedModel([]), strong: scriptedModel([]) },
      attachments: { limits: { files: 3 } },
      server: { maxUploadBytes: 1_000 },
    })
    expect(await client.info()).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      user: expect.any(String),
      operator: true,
      model: 'scripted',
      models: ['fast', 'strong'],
      attachments: { files: 3, message_bytes: 1_000 },
    })
  })

  it('tells only operators what works on its machine', async () => {
    const secret = 'a secret that is long enough for HS256'
    const { server, client } = await openServer({ server: { auth: { kind: 'bearer', key: { kind: 'HS256', secret } } } })
    const token = await new SignJWT({ tenant: 'acme', project: 'web', sub: 'ann' })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(secret))
    await expect(client.info()).rejects.toMatchObject({ status: 401 })
    const user = createClient({ baseUrl: server.url, token })
    expect(await user.info()).toMatchObject({ user: 'ann', operator: false })
    await expect(user.doctor()).rejects.toMatchObject({ status: 403, code: 'role.refused' })
  })
})
