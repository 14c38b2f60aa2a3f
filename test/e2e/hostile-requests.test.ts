import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import type { Attempt } from '../support/hostile/attempt.ts'
import { bodyAttempts } from '../support/hostile/bodies.ts'
import { type HostileFixture, type Mode, openHostileFixture } from '../support/hostile/fixture.ts'
import { headerAttempts } from '../support/hostile/headers.ts'
import { methodAttempts } from '../support/hostile/http-methods.ts'
import { bearing, otherTenantAttempts } from '../support/hostile/other-tenants.ts'
import { pathAttempts } from '../support/hostile/paths.ts'
import { type HostileResponse, send, sendBytes } from '../support/hostile/send.ts'

let world: HostileFixture
beforeAll(async () => {
  world = await openHostileFixture()
})
afterAll(() => world.close())

function attack(mode: Mode, { request: ask }: Attempt): Promise<HostileResponse> {
  const asked = ask(world, mode)
  if ('bytes' in asked) return sendBytes(world.url[mode], asked.bytes)
  const anonymous =
    mode === 'local' || asked.headers?.authorization !== undefined || headerAttempts.some((attempt) => attempt.request === ask)
  return send(world.url[mode], anonymous ? asked : { ...asked, headers: { ...bearing(world.token), ...asked.headers } })
}

const attempts: Readonly<Record<string, readonly Attempt[]>> = {
  'what is somebody else’s (tools 18.106: as if it were not there)': otherTenantAttempts,
  'names that try to be more': pathAttempts,
  'bodies that are not what they say': bodyAttempts,
  'requests that are not from whom they say': headerAttempts,
  'ways that nobody goes': methodAttempts,
}

/** Tests run one after another: between two snapshots there is one request. */
describe.each(['bearer', 'local'] as const)('with a %s server,', (mode) => {
  describe.each(Object.entries(attempts))('%s:', (_, table) => {
    it.each(table.filter((attempt) => (attempt.mode ?? mode) === mode))('$what', async (attempt) => {
      const before = await world.snapshot()
      const heard = world.lines.length
      const answer = await attack(mode, attempt)
      expect({ status: answer.status, ...problemIn(answer) }).toMatchObject({
        status: attempt.status,
        ...(attempt.code !== undefined && { type: 'application/problem+json', code: attempt.code }),
      })
      const told = [answer.text, ...world.lines.slice(heard)].join('\n')
      expect(world.secrets.filter((secret) => told.includes(secret))).toEqual([])
      expect(told).not.toMatch(/\n\s+at /)
      expect(answer.text).not.toMatch(/^access-control-/im)
      expect(await world.snapshot()).toEqual(before)
    })
  })
})

function problemIn({ contentType, body }: HostileResponse): object {
  if (!contentType.includes('json')) return {}
  const { code, status } = JSON.parse(body || '{}') as { code?: string; status?: number }
  return { type: contentType, code, ...(status !== undefined && { status }) }
}

it('a bundle that claims somebody else’s file does not get it', async () => {
  const { rn, key, uri } = world.ann
  const mine = createClient({ baseUrl: world.url.bearer, token: world.token })
  const block = {
    type: 'user.attachment',
    mime: 'text/plain',
    path: 'fi:turn_1.user.attachments/plan.txt',
    text: 'x',
    meta: { rn, key, hosted_uri: uri },
  }
  await mine.conversations.import({ version: 1, blocks: [block] }, 'claimed')
  await expect(mine.resource(rn)).rejects.toMatchObject({ status: 404, code: 'resource.missing' })
  const told = JSON.stringify([await mine.conversations.export('claimed'), await mine.timeline('claimed'), await mine.files('claimed')])
  expect([key, uri, ...world.secrets].filter((secret) => told.includes(secret))).toEqual([])
  await mine.conversations.delete('claimed')
})

it('where a file is kept is in no answer, not even in an export', async () => {
  const mine = createClient({ baseUrl: world.url.bearer, token: world.token })
  const turn = (await mine.timeline('mine')).turn_ids[0] ?? ''
  const told = JSON.stringify([await mine.conversations.export('mine'), await mine.timeline('mine'), await mine.turnLog('mine', turn)])
  expect(told).toContain('mine.txt')
  expect(told).not.toMatch(/"hosted_uri"|"key"/)
})

it('there are many of them', () => {
  expect(Object.values(attempts).flat().length).toBeGreaterThan(60)
})
