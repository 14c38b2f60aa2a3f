import { afterEach, expect, it } from 'vitest'
import { bearer, tokenOf } from '../../../../test/support/hostile/fixture.ts'
import { closeServers, openServer } from '../../../../test/support/server-fixture.ts'
import { createClient } from '../../../client/client.ts'
import { reply } from '../../../testing/scripted-model.ts'

afterEach(closeServers)

it('an operator deletes a user of the own tenant and gets a receipt; others can not', async () => {
  const { server } = await openServer({ server: { auth: bearer }, replies: [reply.answer('One.'), reply.answer('Two.')] })
  const clientOf = (sub: string, tenant: string, roles: readonly string[] = []) =>
    createClient({ baseUrl: server.url, token: tokenOf({ sub, tenant, project: 'p', roles }) })
  const [ann, bob] = [clientOf('ann o/b', 't'), clientOf('bob', 't')]
  const [operator, stranger] = [clientOf('op', 't', ['operator']), clientOf('op', 'u', ['operator'])]
  await ann.conversations.create({ id: 'c1', title: 'Secret' })
  await bob.conversations.create({ id: 'c1', title: 'Kept' })
  const owner = { tenant: 't', project: 'p', user: 'ann o/b' }
  for (const client of [ann, bob, stranger])
    await expect(client.deleteOwner(owner)).rejects.toMatchObject({ status: 403, code: 'role.refused' })
  await expect(stranger.deleteOwner({ tenant: 't' })).rejects.toMatchObject({ status: 403, code: 'role.refused' })

  const receipt = await operator.deleteOwner(owner)
  expect(receipt).toMatchObject({ tables: { conversations: 1, journal: 1 }, files: { blobs: 0, hosted: 0 } })
  expect(receipt.remains.map(({ what }) => what)).toContain('back-ups')
  expect((await ann.conversations.list({})).conversations).toEqual([])
  expect((await bob.conversations.list({})).conversations).toHaveLength(1)
  expect(await operator.deleteOwner(owner)).toEqual(receipt)
  expect(await operator.deleteOwner({ tenant: 't' })).toMatchObject({ tables: { conversations: 1 } })
  expect((await bob.conversations.list({})).conversations).toEqual([])
})
