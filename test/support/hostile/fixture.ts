import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSystemClock } from '../../../src/adapters/clock/system.ts'
import { createMemoryFiles } from '../../../src/adapters/files/memory.ts'
import { createMemoryWorkspaces } from '../../../src/adapters/workspace/custom/custom.ts'
import { createAgentFrom } from '../../../src/agent/agent.ts'
import { createClient } from '../../../src/client/client.ts'
import type { Scope } from '../../../src/core/scope.ts'
import { createLog } from '../../../src/server/log.ts'
import { createMetrics } from '../../../src/server/metrics.ts'
import { serve } from '../../../src/server/serve.ts'
import { defaultServerSettings, type ServerSettings } from '../../../src/server/settings.ts'
import { reply, scriptedModel } from '../../../src/testing/scripted-model.ts'
import { hostingOn } from '../hosting.ts'
import { answered, viewWhen } from '../server-fixture.ts'
import { blobsInFolder, openFolderStore } from '../stores.ts'

export type Mode = 'local' | 'bearer'

/** A store with two servers: one for local users without authentication, one with bearer tokens. */
export interface HostileFixture {
  readonly url: Readonly<Record<Mode, string>>
  /** The token of the attacker. The attacker has a conversation `mine` on both servers. */
  readonly token: string
  readonly tokenOf: (claims: Readonly<Record<string, unknown>>) => string
  /** The data of Ann, a user of another tenant. */
  readonly ann: VictimData
  /** The resource name of the attacker's own file. */
  readonly file: Readonly<Record<Mode, string>>
  /** Texts that must not be in any response or log line. */
  readonly secrets: readonly string[]
  readonly lines: readonly string[]
  /** All stored data. No hostile request may change it. */
  snapshot(): Promise<unknown>
  close(): Promise<void>
}

export interface VictimData {
  readonly rn: string
  readonly key: string
  readonly uri: string
  readonly turn: string
  readonly cursor: string
  readonly sha256: string
}

const secret = 'a secret of at least thirty-two bytes, for tests'
const issuer = 'https://issuer.test'
const audience = 'daybook'

export const eve: Scope = { tenant: 'rival', project: 'main', user: 'eve' }
const annScope: Scope = { tenant: 'acme', project: 'main', user: 'ann' }

/** Words in Ann's title, message, file and answer, a different one in each. */
const planted = ['MARZIPAN', 'TURNPIKE', 'OBSIDIAN', 'PERSIMMON'].map((word) => `${word}-of-ann`)
const environment = 'QUICKSILVER-of-the-process'

export const bearer: ServerSettings['auth'] = { kind: 'bearer', key: { kind: 'HS256', secret }, issuer, audience }

export async function openHostileFixture(): Promise<HostileFixture> {
  process.env.DAYBOOK_TEST_SECRET = environment
  const folder = mkdtempSync(join(tmpdir(), 'daybook-hostile-'))
  const clock = createSystemClock()
  const store = await openFolderStore(folder, { clock })
  const { hosting } = hostingOn(store.blobs)
  const workspaces = createMemoryWorkspaces({ blobs: store.blobs, createFiles: createMemoryFiles })
  const lines: string[] = []
  const log = createLog((line) => void lines.push(line), clock.now)
  const model = scriptedModel([
    reply.answer(`${planted[3]}.`),
    reply.answer('Hello, Ann.'),
    reply.answer('Hello, Eve.'),
    reply.answer('Hello.'),
  ])
  const onProblem = ({ where, error }: { where: string; error: unknown }) => log('error', 'agent.problem', { where, error })
  const agent = createAgentFrom({ model, store, clock, hosting, workspaces, onProblem })
  let ids = 0
  const open = (auth: ServerSettings['auth']) =>
    serve({
      agent,
      settings: { ...defaultServerSettings, port: 0, drainMs: 0, requestsPerMinute: 1e6, turnsPerMinute: 1e6, auth },
      log,
      metrics: createMetrics({}),
      now: clock.now,
      newId: () => `id_${++ids}`,
    })
  const servers = { bearer: await open(bearer), local: await open({ kind: 'local' }) }
  const url = { bearer: servers.bearer.url, local: servers.local.url }
  const token = tokenOf({ ...claimsOf(eve) })

  const ann = createClient({ baseUrl: url.bearer, token: tokenOf(claimsOf(annScope)) })
  await ann.conversations.create({ id: 'plans', title: planted[0] as string })
  await ann.conversations.create({ id: 'older', title: planted[0] as string })
  await ann.send('plans', planted[1] as string, { files: [{ name: 'plan.txt', content: new Blob([planted[2] as string]) }] })
  const view = await viewWhen(ann, 'plans', answered)
  const own = createClient({ baseUrl: url.bearer, token })
  const mine = createClient({ baseUrl: url.local })
  const file = { bearer: await withFile(own), local: await withFile(mine) }
  const { next: cursor = '' } = await ann.conversations.list({ limit: 1 })
  const block = (await store.findByPath('acme/main/ann/plans', `fi:${view.turns[0]?.id}.user.attachments/plan.txt`)).find(
    ({ meta }) => meta?.rn !== undefined,
  )
  const meta = block?.meta as { rn: string; key: string; hosted_uri: string }
  const hosted = await hosting.resolve(meta.rn, annScope)
  const theirs = {
    rn: meta.rn,
    key: meta.key,
    uri: meta.hosted_uri,
    turn: view.turns[0]?.id ?? '',
    cursor,
    sha256: hosted?.blob.sha256 ?? '',
  }
  lines.length = 0

  return {
    url,
    token,
    tokenOf: (claims) => tokenOf({ ...claimsOf(eve), ...claims }),
    ann: theirs,
    file,
    secrets: [...planted, environment, folder, secret, ...environmentPaths],
    lines,
    async snapshot() {
      const { conversations } = await store.list({ limit: 100 })
      const bundles = await Promise.all(conversations.map(({ conversationId }) => store.exportBundle(conversationId)))
      return { conversations, bundles: bundles.map((bundle) => JSON.stringify(bundle)), blobs: await blobsInFolder(folder) }
    },
    async close() {
      await Promise.all(Object.values(servers).map((server) => server.drain()))
      await store.close()
      rmSync(folder, { recursive: true, force: true })
      delete process.env.DAYBOOK_TEST_SECRET
    },
  }
}

/** Texts that show where the code is on disk. No response and no log line may contain them. */
const environmentPaths = [process.cwd(), 'node_modules', '.ts:']

async function withFile(client: ReturnType<typeof createClient>): Promise<string> {
  await client.conversations.create({ id: 'mine' })
  await client.send('mine', 'hello', { files: [{ name: 'mine.txt', content: new Blob(['0123456789']) }] })
  await viewWhen(client, 'mine', answered)
  await viewWhen(client, 'mine', ({ title }) => title !== undefined)
  return (await client.files('mine')).files[0]?.rn ?? ''
}

/** The claims for tokens of the attacker and of Ann. Both are operators, because an operator must not access other tenants either. */
const claimsOf = ({ tenant, project, user }: Scope) => ({ tenant, project, sub: user, roles: ['operator'] })

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Signs a token without a library, because libraries refuse to make most of these tokens. */
export function tokenOf(
  claims: Readonly<Record<string, unknown>>,
  { header = { alg: 'HS256', typ: 'JWT' }, key = secret, hash = 'sha256' }: { header?: object; key?: string | null; hash?: string } = {},
): string {
  const soon = Math.floor(Date.now() / 1000) + 600
  const signed = `${encoded(header)}.${encoded({ exp: soon, iss: issuer, aud: audience, ...claims })}`
  const signature = key === null ? '' : createHmac(hash, key).update(signed).digest('base64url')
  return `${signed}.${signature}`
}
