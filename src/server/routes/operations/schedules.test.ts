import { afterEach, describe, expect, it } from 'vitest'
import { bearer, tokenOf } from '../../../../test/support/hostile/fixture.ts'
import { answered, closeServers, openServer, viewWhen } from '../../../../test/support/server-fixture.ts'
import { createClient } from '../../../client/client.ts'
import { reply } from '../../../testing/scripted-model.ts'

afterEach(closeServers)

describe('the routes for schedules', () => {
  it('loop 17.113: send a message when its time has come, to a conversation that did not exist', async () => {
    const { client } = await openServer({ replies: [reply.answer('Good morning.')] })
    const added = await client.schedule('c1', { text: 'Say good morning.', at: '2020-01-01T09:00:00+01:00', schedule_id: 'morning' })
    expect(added).toEqual({ status: 'added', schedule_id: 'morning', next_at: '2020-01-01T08:00:00.000Z' })
    const { turns } = await viewWhen(client, 'c1', answered)
    expect(turns).toMatchObject([{ answers: [{ text: 'Good morning.' }] }])
    expect(await client.schedules()).toEqual({ schedules: [] })
    expect(await client.schedule('c1', { text: 'Again?', every: 1, schedule_id: 'morning' })).toMatchObject({
      status: 'known',
      next_at: null,
    })
  })

  it('list schedules and remove them', async () => {
    const { client } = await openServer({})
    await client.schedule('c1', { text: 'Later.', at: '2100-01-01T00:00:00Z', every: 60, schedule_id: 'a' })
    await client.schedule('c2', {
      text: 'Service restarts.',
      at: '2099-01-01T00:00:00Z',
      schedule_id: 'b',
      notification: { source: 'ops' },
    })
    const a = {
      conversation_id: 'c1',
      schedule_id: 'a',
      kind: 'message',
      text: 'Later.',
      next_at: '2100-01-01T00:00:00.000Z',
      every: 60,
      sent: 0,
    }
    expect(await client.schedules({ conversationId: 'c1' })).toEqual({ schedules: [a] })
    const first = await client.schedules({ limit: 1 })
    expect(first.schedules).toMatchObject([{ schedule_id: 'b', kind: 'notification' }])
    expect(await client.schedules({ limit: 1, cursor: first.next ?? '' })).toEqual({ schedules: [a] })
    await client.unschedule('c1', 'a')
    await expect(client.unschedule('c1', 'a')).rejects.toMatchObject({ status: 404, code: 'schedule.missing' })
    expect((await client.schedules()).schedules).toHaveLength(1)
  })

  it('loop 17.112: refuse invalid schedules with a clear problem', async () => {
    const { client } = await openServer({})
    const refused = [
      { text: 'x' },
      { text: '', every: 1 },
      { text: 'x', every: 0 },
      { text: 'x', every: 1.5 },
      { text: 'x', at: 'tomorrow' },
      { text: 'x', at: '2030-01-01' },
      { text: 'x', every: 1, schedule_id: 'a/b' },
      { text: 'x', every: 1, more: true },
    ]
    for (const body of refused) await expect(client.schedule('c1', body)).rejects.toMatchObject({ status: 400 })
    await expect(client.schedules({ conversationId: 'none' })).rejects.toMatchObject({ status: 404 })
    await expect(client.schedules({ cursor: 'x' })).rejects.toMatchObject({ status: 400, code: 'cursor.invalid' })
  })

  it('count as messages, and a user can not have more than the limit of messages allows, in however many conversations', async () => {
    const { server } = await openServer({ server: { auth: bearer, turnsPerMinute: 5 } })
    const clientOf = (sub: string, roles: readonly string[] = []) =>
      createClient({ baseUrl: server.url, token: tokenOf({ sub, tenant: 't', project: 'p', roles: [...roles] }) })
    const often = (client: ReturnType<typeof clientOf>, id: string, every: number) =>
      client.schedule(id, { text: 'x', at: '2100-01-01T00:00:00Z', every, schedule_id: 'a' })
    const ann = clientOf('ann')
    await expect(often(ann, 'c1', 1)).rejects.toMatchObject({
      code: 'schedule.limit',
      message: expect.stringContaining('5 messages a minute'),
    })
    await often(ann, 'c1', 15) // 4 messages a minute
    await expect(often(ann, 'c2', 59)).rejects.toMatchObject({ code: 'schedule.limit' })
    await often(ann, 'c2', 60)
    expect(await often(ann, 'c2', 1)).toMatchObject({ status: 'known' }) // the existing schedule does not change
    await expect(often(ann, 'c3', 86_400)).rejects.toMatchObject({ status: 429, code: 'request.too_many' }) // the sixth request in a minute
    expect(await often(clientOf('olga', ['operator']), 'c1', 1)).toMatchObject({ status: 'added' })
  })

  it('show and change only what belongs to the user', async () => {
    const { server } = await openServer({ server: { auth: bearer } })
    const clientOf = (sub: string) => createClient({ baseUrl: server.url, token: tokenOf({ sub, tenant: 't', project: 'p' }) })
    const [ann, bob] = [clientOf('ann'), clientOf('bob')]
    await ann.schedule('c1', { text: 'Secret.', at: '2100-01-01T00:00:00Z', schedule_id: 'a' })
    expect(await bob.schedules()).toEqual({ schedules: [] })
    await expect(bob.schedules({ conversationId: 'c1' })).rejects.toMatchObject({ status: 404 })
    await expect(bob.unschedule('c1', 'a')).rejects.toMatchObject({ status: 404 })
    expect((await ann.schedules()).schedules).toHaveLength(1)
    expect((await fetch(`${server.url}/v1/schedules`)).status).toBe(401)
  })
})
