import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import type { Attempt } from '../support/hostile/attempt.ts'
import { bodyAttempts } from '../support/hostile/bodies.ts'
import { type HostileFixture, type Mode, openHostileFixture } from '../support/hostile/fixture.ts'
import { headerAttempts } from '../support/hostile/headers.ts'
import { methodAttempts } from '../support/hostile/http-methods.ts'
import { agUi, bearing, otherTenantAttempts, uiMessage } from '../support/hostile/other-tenants.ts'
import { pathAttempts } from '../support/hostile/paths.ts'
import { type HostileResponse, send, sendBytes } from '../support/hostile/send.ts'
import { testDatabase } from '../support/stores.ts'

let fixture: HostileFixture
beforeAll(async () => {
  fixture = await openHostileFixture()
})
afterAll(() => fixture.close())

function attack(mode: Mode, { request: create }: Attempt): Promise<HostileResponse> {
  const request = create(fixture, mode)
  if ('bytes' in request) return sendBytes(fixture.url[mode], request.bytes)
  const anonymous =
    mode === 'local' || request.headers?.authorization !== undefined || headerAttempts.some((attempt) => attempt.request === create)
  return send(fixture.url[mode], anonymous ? request : { ...request, headers: { ...bearing(fixture.token), ...request.headers } })
}

const attempts: Readonly<Record<string, readonly Attempt[]>> = {
  'data of another tenant (tools 18.106: as if it did not exist)': otherTenantAttempts,
  'hostile paths': pathAttempts,
  'hostile bodies': bodyAttempts,
  // these never reach the store, so one kind of store is enough
  ...(testDatabase() === undefined && {
    'forged origins and tokens': headerAttempts,
    'unusual methods and malformed HTTP': methodAttempts,
  }),
}

// The tests run one after the other, so that exactly one request is made between the two snapshots of a test.
describe.each(['bearer', 'local'] as const)('with a %s server,', (mode) => {
  describe.each(Object.entries(attempts))('%s:', (_, table) => {
    it.each(table.filter((attempt) => (attempt.mode ?? mode) === mode))('$description', async (attempt) => {
      const before = await fixture.snapshot()
      const logged = fixture.lines.length
      const response = await attack(mode, attempt)
      expect({ status: response.status, ...problemIn(response) }).toMatchObject({
        status: attempt.status,
        ...(attempt.code !== undefined && { type: 'application/problem+json', code: attempt.code }),
      })
      const output = [response.text, ...fixture.lines.slice(logged)].join('\n')
      expect(fixture.secrets.filter((secret) => output.includes(secret))).toEqual([])
      expect(output).not.toMatch(/\n\s+at /)
      expect(response.text).not.toMatch(/^access-control-/im)
      expect(await fixture.snapshot()).toEqual(before)
    })
  })
})

function problemIn({ contentType, body }: HostileResponse): object {
  if (!contentType.includes('json')) return {}
  const { code, status } = JSON.parse(body || '{}') as { code?: string; status?: number }
  return { type: contentType, code, ...(status !== undefined && { status }) }
}

it.each([
  ['AG-UI', 'ag-ui', agUi('what is in here?')],
  ['the AI SDK', 'ui-message', uiMessage('what is in here?')],
])('a question by %s with the name of a conversation of another tenant begins one of the attacker', async (_, path, body) => {
  const before = await fixture.snapshot()
  const headers = { ...bearing(fixture.token), 'content-type': 'application/json' }
  const response = await send(fixture.url.bearer, { method: 'POST', path: `/v1/conversations/plans/${path}`, headers, body })
  expect(response.status).toBe(200)
  const mine = createClient({ baseUrl: fixture.url.bearer, token: fixture.token })
  await expect.poll(async () => (await mine.conversations.get('plans')).open_turn ?? null).toBe(null)
  const output = response.text + JSON.stringify(await mine.timeline('plans'))
  expect(fixture.secrets.filter((secret) => output.includes(secret))).toEqual([])
  await mine.conversations.delete('plans')
  expect(await fixture.snapshot()).toEqual(before)
})

it('an imported bundle that names a file of another tenant gets no access to it', async () => {
  const { rn, key, uri } = fixture.ann
  const mine = createClient({ baseUrl: fixture.url.bearer, token: fixture.token })
  const block = {
    type: 'user.attachment',
    mime: 'text/plain',
    path: 'fi:turn_1.user.attachments/plan.txt',
    text: 'x',
    meta: { rn, key, hosted_uri: uri },
  }
  await mine.conversations.import({ version: 1, blocks: [block] }, 'claimed')
  await expect(mine.resource(rn)).rejects.toMatchObject({ status: 404, code: 'resource.missing' })
  const output = JSON.stringify([await mine.conversations.export('claimed'), await mine.timeline('claimed'), await mine.files('claimed')])
  expect([key, uri, ...fixture.secrets].filter((secret) => output.includes(secret))).toEqual([])
  await mine.conversations.delete('claimed')
})

it('no response contains the storage location of a file, not even an export', async () => {
  const mine = createClient({ baseUrl: fixture.url.bearer, token: fixture.token })
  const turn = (await mine.timeline('mine')).turn_ids[0] ?? ''
  const output = JSON.stringify([await mine.conversations.export('mine'), await mine.timeline('mine'), await mine.turnLog('mine', turn)])
  expect(output).toContain('mine.txt')
  expect(output).not.toMatch(/"hosted_uri"|"key"/)
})
