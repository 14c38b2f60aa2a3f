import { afterEach, describe, expect, it } from 'vitest'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createClient } from '../../src/client/client.ts'
import type { ServerSettings } from '../../src/server/settings.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { bearer, tokenOf } from '../support/hostile/fixture.ts'
import { hostingOn } from '../support/hosting.ts'
import { internalTexts, internalTurn, noteMemory } from '../support/internal-turn.ts'
import { pausedTool } from '../support/scenario-tools.ts'
import { answered, closeServers, openServer, viewWhen } from '../support/server-fixture.ts'
import { openTestStore } from '../support/stores.ts'

afterEach(closeServers)

type Role = 'user' | 'operator'
const roles: readonly Role[] = ['user', 'operator']
const formats = ['chat', 'native', 'ag-ui', 'ui-message'] as const

const claims = { tenant: 'acme', project: 'main', sub: 'ann' }

/** Starts a server with tokens, and a turn with internal content. The turn waits in a tool until `finish` is called. */
async function startTurn(userThinking: ServerSettings['userThinking']) {
  const clock = createSystemClock()
  const store = await openTestStore({ clock })
  const paused = pausedTool()
  const { replies, tools } = internalTurn(reply.call('paused.work', {}, { thinking: 'THOUGHT' }))
  const { server } = await openServer({
    clock,
    store,
    hosting: hostingOn(store.blobs).hosting,
    replies,
    tools: [...tools, paused.tool],
    builtIn: { memory: noteMemory },
    settings: { recordPrompts: true },
    server: { auth: bearer, userThinking },
  })
  const tokens = { user: tokenOf(claims), operator: tokenOf({ ...claims, roles: ['operator'] }) }
  const fetchAs = (role: Role, path: string, init: RequestInit = {}) =>
    fetch(`${server.url}/v1${path}`, { ...init, headers: { authorization: `Bearer ${tokens[role]}`, ...init.headers } })
  const client = (role: Role) => createClient({ baseUrl: server.url, token: tokens[role] })
  await client('user').conversations.create({ id: 'c1', title: 'Rome' })
  return { fetchAs, client, finish: paused.finish }
}

type Running = Awaited<ReturnType<typeof startTurn>>

/** Reads an event stream until the turn ends. */
async function readTurn(response: Response): Promise<string> {
  expect(response.status).toBe(200)
  let text = ''
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    if (text.includes('"turn.closed"') || text.includes('"chat.conversation.turn.completed"')) break
  }
  return text
}

/** The status of a rejected request, or the kinds of texts that the response contains. */
function contentOf(status: number, text: string): string {
  if (status !== 200) return String(status)
  const found = [
    ...(/public|clear/.test(text) ? ['public'] : []),
    ...(text.includes('THOUGHT') ? ['thinking'] : []),
    ...(text.includes('SECRET') ? ['internal'] : []),
  ]
  return found.join(' + ') || 'nothing'
}

type Cells = Record<string, Partial<Record<Role, string>>>

async function streamCells({ fetchAs, client, finish }: Running): Promise<Cells> {
  const cells: Cells = {}
  const streams = (query: string, headers: Record<string, string> = {}) =>
    roles.flatMap((role) =>
      formats.map(async (as) => ({ role, as, response: await fetchAs(role, `/conversations/c1/events?as=${as}${query}`, { headers }) })),
    )
  const collect = async (name: string, opened: Awaited<ReturnType<typeof streams>[number]>[]) => {
    for (const { role, as, response } of opened) {
      const text = await readTurn(response)
      if (as === 'native') expectAllEntries(text)
      if (as === 'native' && role === 'operator' && name !== 'after Last-Event-ID')
        expect(internalTexts.filter((each) => !text.includes(`SECRET-${each}`))).toEqual([])
      cells[`${as}, ${name}`] = { ...cells[`${as}, ${name}`], [role]: contentOf(200, text) }
    }
  }
  const live = await Promise.all(streams(''))
  const posted = fetchAs('user', '/conversations/c1/ui-message', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Rome?' }] }] }),
  })
  await viewWhen(client('operator'), 'c1', ({ live: round }) => round?.toolId === 'paused.work')
  const resumed = await Promise.all(
    roles.map(async (role) => ({ role, response: await fetchAs(role, '/conversations/c1/ui-message/x/stream') })),
  )
  finish()
  cells['ui-message, posted'] = { user: contentOf(200, await readTurn(await posted)) }
  for (const { role, response } of resumed)
    cells['ui-message, resumed'] = { ...cells['ui-message, resumed'], [role]: contentOf(200, await readTurn(response)) }
  await collect('live', live)
  await collect('reloaded', await Promise.all(streams('&after=0')))
  await collect('after Last-Event-ID', await Promise.all(streams('', { 'last-event-id': '12' })))
  return cells
}

/** Checks that no entry is missing. Every role must get every entry, because a client takes a gap for a lost entry. */
function expectAllEntries(text: string): void {
  const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
  expect(ids.length).toBeGreaterThan(20)
  expect(ids).toEqual(ids.map((_, index) => (ids[0] ?? 0) + index))
}

async function viewCells({ fetchAs, client }: Running): Promise<Cells> {
  const view = await viewWhen(client('operator'), 'c1', answered)
  const turn = view.turns[0]?.id ?? ''
  const { files } = await client('user').files('c1')
  const bundle = JSON.stringify(await client('operator').conversations.export('c1'))
  const json = { 'content-type': 'application/json' }
  const requests: Record<string, (role: Role) => readonly [string, RequestInit?]> = {
    timeline: () => ['/conversations/c1/timeline'],
    'log of a turn': () => [`/conversations/c1/turns/${turn}/log`],
    'result of a turn': () => [`/conversations/c1/turns/${turn}/result`],
    prompt: () => [`/conversations/c1/rounds/${turn}/6/prompt`],
    'one round': () => [`/conversations/c1/rounds/${turn}/6`],
    'entries of the journal': () => ['/conversations/c1/entries'],
    replay: () => ['/conversations/c1/replay'],
    'cost and cache': () => ['/conversations/c1/ledger'],
    effects: () => ['/conversations/c1/effects'],
    export: () => ['/conversations/c1/export'],
    import: (role) => [`/conversations/import?as=copy-${role}`, { method: 'POST', headers: json, body: bundle }],
    fork: (role) => ['/conversations/c1/fork', { method: 'POST', headers: json, body: JSON.stringify({ id: `fork-${role}` }) }],
    'timeline of a fork': (role) => [`/conversations/fork-${role}/timeline`],
    'fork at an entry': (role) => [
      '/conversations/c1/fork',
      { method: 'POST', headers: json, body: JSON.stringify({ id: `early-${role}`, at_seq: 20 }) },
    ],
    'timeline of a fork at an entry': (role) => [`/conversations/early-${role}/timeline`],
    sources: () => ['/conversations/c1/sources'],
    files: () => ['/conversations/c1/files'],
    'a file': () => [`/resources/${encodeURIComponent(files[0]?.rn ?? '')}`],
    list: () => ['/conversations'],
    'search for internal text': () => ['/conversations?search=SECRET'],
    openapi: () => ['/openapi.json'],
  }
  const cells: Cells = {}
  for (const [name, request] of Object.entries(requests)) {
    for (const role of roles) {
      const response = await fetchAs(role, ...request(role))
      const status = response.status === 201 ? 200 : response.status
      const text = await response.text()
      if (status === 403) expect(JSON.parse(text)).toMatchObject({ code: 'role.refused', title: expect.stringContaining('operator') })
      cells[name] = { ...cells[name], [role]: contentOf(status, text) }
    }
  }
  return cells
}

const tableOf = (cells: Cells) =>
  [
    '',
    ...Object.entries(cells).map(([name, { user = '-', operator = '-' }]) => `${name.padEnd(32)}${user.padEnd(20)}${operator}`),
    '',
  ].join('\n')

describe('what users and operators receive of a turn with internal content', () => {
  it('users receive no internal text by any transport, and operators receive all of it', async (context) => {
    const running = await startTurn('shown')
    const cells = { ...(await streamCells(running)), ...(await viewCells(running)) }
    countAttempts(context, Object.keys(cells).length)
    expect(tableOf(cells)).toMatchInlineSnapshot(`
      "
      ui-message, posted              public + thinking   -
      ui-message, resumed             public + thinking   public + thinking + internal
      chat, live                      public + thinking   public + thinking + internal
      native, live                    public + thinking   public + thinking + internal
      ag-ui, live                     public + thinking   public + thinking + internal
      ui-message, live                public + thinking   public + thinking + internal
      chat, reloaded                  public              public + internal
      native, reloaded                public + thinking   public + thinking + internal
      ag-ui, reloaded                 public + thinking   public + thinking + internal
      ui-message, reloaded            public + thinking   public + thinking + internal
      chat, after Last-Event-ID       public              public + internal
      native, after Last-Event-ID     public + thinking   public + thinking + internal
      ag-ui, after Last-Event-ID      public + thinking   public + thinking + internal
      ui-message, after Last-Event-ID public + thinking   public + thinking + internal
      timeline                        public + thinking   public + thinking + internal
      log of a turn                   public + thinking   public + thinking + internal
      result of a turn                public              public
      prompt                          403                 public + internal
      one round                       403                 nothing
      entries of the journal          403                 public + thinking + internal
      replay                          403                 nothing
      cost and cache                  403                 nothing
      effects                         403                 nothing
      export                          403                 public + thinking + internal
      import                          403                 nothing
      fork                            nothing             nothing
      timeline of a fork              public + thinking   public + thinking + internal
      fork at an entry                nothing             nothing
      timeline of a fork at an entry  public + thinking   public + thinking + internal
      sources                         nothing             nothing
      files                           nothing             nothing
      a file                          public              public
      list                            nothing             nothing
      search for internal text        nothing             nothing
      openapi                         nothing             nothing
      "
    `)
  })

  it('users see the steps of the turn without their content', async () => {
    const { client, fetchAs, finish } = await startTurn('withheld')
    await client('user').send('c1', 'Rome?')
    await viewWhen(client('user'), 'c1', ({ live }) => live?.toolId === 'paused.work')
    finish()
    const [turn] = (await viewWhen(client('user'), 'c1', answered)).turns
    const steps = turn?.steps.map((step) =>
      step.kind === 'tool' ? `${step.toolId} ${step.status} ${JSON.stringify(step.params)}` : step.kind,
    )
    expect(steps).toMatchInlineSnapshot(`
      [
        "notes",
        "weather.today done {"city":"Rome"}",
        "react.write done {}",
        "react.write done {"path":"files/report.md","channel":"canvas","content":"A public report.","kind":"file"}",
        "react.read done {}",
        "react.read done {}",
        "react.hide done {}",
        "react.memsearch done {}",
        "react.search_files done {}",
        "react.patch done {}",
        "react.write failed {}",
        "react.write done {}",
        "exec_tools.execute_code_js done {}",
        "sample.files done {"contract":[]}",
        "notice",
        "paused.work done {}",
      ]
    `)
    expect(turn?.files.map(({ filename }) => filename)).toEqual(['report.md'])
    expect(turn?.answers.map(({ text }) => text)).toEqual(['A public answer.'])
    // a user does not learn whether the conversation exists
    expect((await fetchAs('user', '/conversations/missing/export')).status).toBe(403)
  })

  it('thinking can be withheld from users, live and after a reload', async () => {
    const running = await startTurn('withheld')
    const cells = { ...(await streamCells(running)), ...(await viewCells(running)) }
    expect(tableOf(cells)).toMatchInlineSnapshot(`
      "
      ui-message, posted              public              -
      ui-message, resumed             public              public + thinking + internal
      chat, live                      public              public + thinking + internal
      native, live                    public              public + thinking + internal
      ag-ui, live                     public              public + thinking + internal
      ui-message, live                public              public + thinking + internal
      chat, reloaded                  public              public + internal
      native, reloaded                public              public + thinking + internal
      ag-ui, reloaded                 public              public + thinking + internal
      ui-message, reloaded            public              public + thinking + internal
      chat, after Last-Event-ID       public              public + internal
      native, after Last-Event-ID     public              public + thinking + internal
      ag-ui, after Last-Event-ID      public              public + thinking + internal
      ui-message, after Last-Event-ID public              public + thinking + internal
      timeline                        public              public + thinking + internal
      log of a turn                   public              public + thinking + internal
      result of a turn                public              public
      prompt                          403                 public + internal
      one round                       403                 nothing
      entries of the journal          403                 public + thinking + internal
      replay                          403                 nothing
      cost and cache                  403                 nothing
      effects                         403                 nothing
      export                          403                 public + thinking + internal
      import                          403                 nothing
      fork                            nothing             nothing
      timeline of a fork              public              public + thinking + internal
      fork at an entry                nothing             nothing
      timeline of a fork at an entry  public              public + thinking + internal
      sources                         nothing             nothing
      files                           nothing             nothing
      a file                          public              public
      list                            nothing             nothing
      search for internal text        nothing             nothing
      openapi                         nothing             nothing
      "
    `)
  })
})
