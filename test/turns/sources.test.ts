import fc from 'fast-check'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { localScope } from '../../src/core/scope.ts'
import { normalizeUrl } from '../../src/core/sources/url.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import { createChatFormat } from '../../src/server/events/chat.ts'
import type { ChatEnvelope } from '../../src/server/events/chat-events.ts'
import { createHarness, type Harness } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { type Returned, succeeded } from '../../src/tools/outcome.ts'
import type { Call, Tool } from '../../src/tools/tool.ts'
import { contextWithRoom } from '../support/context-size.ts'

/** A source as a tool returns it, not validated. `sid` is a number that has a meaning only in this result. */
interface Row {
  readonly sid?: number | string
  readonly url?: string | undefined
  readonly href?: string
  readonly title: string
}

const forms = ['text', 'list', 'nested', 'json text', 'file', 'json file'] as const
/** The forms of output in which a tool does not say which values are sources. */
const plainForms = ['plain list', 'by address', 'plain nested', 'beside other values', 'plain json text'] as const

/** One search. `form` is the form in which the tool returns its rows. */
interface Search {
  readonly tool: 'web.search' | 'news.search'
  readonly form: (typeof forms)[number] | (typeof plainForms)[number]
  readonly rows: readonly Row[]
  /** Whether the process ends while the tool runs. Another process then runs the call again. */
  readonly crashes: boolean
}

const pages = ['https://a.example/one', 'https://a.example/two', 'http://b.example', 'https://c.example:8443/x?q=1', 'https://d.example/d']
const spellings = ['', '#top', '#more', '?utm_source=mail', '/']
const addresses = fc.tuple(fc.constantFrom(...pages), fc.constantFrom(...spellings)).map(([page, spelling]) => page + spelling)
const rows: fc.Arbitrary<Row> = fc.record(
  {
    sid: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom('1', '2')),
    url: fc.option(addresses, { nil: undefined, freq: 5 }),
    href: addresses,
    title: fc.constantFrom('One title', 'Another title'),
  },
  { requiredKeys: ['title'] },
)
const searches: fc.Arbitrary<Search> = fc.record({
  tool: fc.constantFrom('web.search', 'news.search'),
  form: fc.constantFrom(...forms, ...plainForms),
  rows: fc.array(rows, { maxLength: 5 }),
  crashes: fc.integer({ min: 0, max: 5 }).map((number) => number === 0),
})
const turns = fc.array(fc.array(searches, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 3 })

const pageOf = ({ url, href }: Row) => (url ?? href) && normalizeUrl(url ?? href ?? '')

/** A sentence about the page of a row. In the output of a tool, the number of the row is beside it. */
const fact = (row: Row) => `fact about <${pageOf(row) ?? 'nothing'}>`
const citedFact = (row: Row) => `${fact(row)} [[S:${row.sid}]].`

const longPage = 'A sentence that fills the context. '.repeat(30)

/** A valid row. An output without declared sources is searched for sources only if it contains at least one valid row. */
const good: Row = { sid: 6, url: pages[0] as string, title: 'One title' }

function returned({ form, rows: found }: Search, call: Call): Returned {
  const rows = plainForms.some((plain) => plain === form) ? [...found, good] : found
  const described = rows.map((row) => ({ ...row, text: `${fact(row)} ${longPage}` }))
  const sources = described as never // the type check is skipped, because tools of other authors may return anything
  const text = rows.map(citedFact).join('\n')
  switch (form) {
    case 'text':
      return succeeded({ output: `${text}\n\`\`\`\n${text}\n\`\`\``, sources })
    case 'list':
      return succeeded({ output: sources, sources })
    case 'nested':
      return succeeded({ output: { found: { rows: sources }, [text]: 1, note: text }, sources })
    case 'json text':
      return succeeded({ output: `Found:\n${JSON.stringify(described, null, 2)}`, sources })
    case 'plain list':
      return described
    case 'plain nested':
      return { ok: true, ret: { query: 'x', data: { web: described } } }
    case 'beside other values':
      return ['Found:', rows.length, ...described]
    case 'plain json text':
      return JSON.stringify({ results: described })
    case 'by address':
      return Object.fromEntries(described.map(({ url, href, ...row }) => [url ?? href ?? 'nowhere', row]))
    case 'file': {
      const digest = { artifact_path: `fi:${call.origin.turnId}.outputs/report.md`, mime: 'text/markdown', kind: 'display' as const }
      return succeeded({ artifacts: [{ digest, mime: 'text/markdown', text }], sources })
    }
    case 'json file': {
      const mime = 'application/json'
      const digest = { artifact_path: `fi:${call.origin.turnId}.outputs/rows.json`, mime, kind: 'display' as const }
      return succeeded({ artifacts: [{ digest, mime, text: JSON.stringify(described) }], sources })
    }
  }
}

type Fact = readonly [page: string, sid: number]

/** Every sentence about a page in a prompt, with the number beside it. */
function factsIn(text: string): readonly Fact[] {
  const cited = [...text.matchAll(/fact about <([^>\s]*)> \[\[S:(\d+)\]\]/g)].map(([, page = '', sid]): Fact => [page, Number(sid)])
  const listed = [...text.matchAll(/SID:(\d+) .*\n +fact about <([^>\s]*)>/g)].map(([, sid, page = '']): Fact => [page, Number(sid)])
  const rows = [...text.matchAll(/\{[^{}]*\}/g)].flatMap(([json]): readonly Fact[] => {
    const sid = /"sid": ?"?(\d+)/.exec(json)?.[1]
    const page = /fact about <([^>\s]*)>/.exec(json)?.[1]
    return sid === undefined || page === undefined ? [] : [[page, Number(sid)]]
  })
  return [...cited, ...listed, ...rows]
}

const textOf = ({ parts }: ModelRequest) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
const cite = (facts: readonly Fact[]) => facts.map(([page, sid]) => `fact about <${page}> [[S:${sid}]]`).join(', ')

/** Runs the searches of all turns. The model cites every sentence that it sees, in its answers and in its summaries. */
async function converse(conversation: readonly (readonly Search[])[]): Promise<{ readonly harness: Harness; readonly shown: Fact[] }> {
  const steps = conversation.flat()
  const crashed = new Set<number>()
  const shown: Fact[] = []
  let called = 0
  let until = 0
  let harness: Harness

  const search = (id: Search['tool']): Tool =>
    defineTool({
      id,
      description: 'Finds pages.',
      params: z.object({ step: z.number() }),
      repeatable: true,
      run({ step }, call) {
        const found = steps[step] as Search
        if (!found.crashes || crashed.has(step)) return returned(found, call)
        crashed.add(step)
        const { agent } = harness
        return new Promise((_, reject) => {
          call.signal.addEventListener('abort', () => reject(call.signal.reason), { once: true })
          void agent.close()
        })
      },
    })

  const decide: Reply = (request) => {
    const facts = factsIn(textOf(request))
    shown.push(...facts)
    if (request.role === 'compaction') return `## Done\nFound: ${cite(facts)}.`
    if (called === until) return reply.answer(`I found ${cite(facts) || 'nothing'}.`)
    return reply.call((steps[called] as Search).tool, { step: called++ })
  }

  const settings = { contextTokens: contextWithRoom(3_000), keepRecentTurns: 1, retryDelaysMs: [] }
  const create = (before?: Harness) =>
    createHarness({
      replies: Array.from({ length: 60 }, () => decide),
      tools: [search('web.search'), search('news.search')],
      settings,
      ...(before && { store: before.store, clock: before.clock }),
    })

  harness = create()
  for (const searches of conversation) {
    until += searches.length
    const { exitReason } = await harness.say('Find something.')
    for (let reason: string | undefined = exitReason; reason === 'cancelled'; ) {
      harness = create(harness)
      reason = (await harness.agent.recover()).results[0]?.exitReason
    }
  }
  return { harness, shown }
}

it('every citation that reaches a user leads to the page whose text stood beside that number in a prompt', async () => {
  const reached = { citations: 0, compactions: 0, crashes: 0, merged: 0 }
  await fc.assert(
    fc.asyncProperty(turns, async (conversation) => {
      const { harness, shown } = await converse(conversation)
      const pool = await harness.agent.archive.sources(harness.conversationId)
      const pageOfSid = new Map(pool.map((row) => [row.sid, normalizeUrl(row.url ?? '')]))
      for (const [page, sid] of shown) expect([sid, pageOfSid.get(sid)]).toEqual([sid, page])
      expect(pool.map(({ url = '' }) => normalizeUrl(url)).toSorted()).toEqual([...new Set(pageOfSid.values())].toSorted())

      const journal = await harness.journal()
      const chat = createChatFormat({
        context: { requestId: 'r1', conversationId: harness.conversationId, scope: localScope },
        sources: [],
        now: () => harness.clock.now(),
      })
      const envelopes = journal
        .flatMap((change, index) => chat.framesOf({ type: 'entry', seq: index + 1, change }))
        .map(({ data }) => data as ChatEnvelope)
      for (const { type, data } of envelopes) {
        if (type === 'chat.complete') {
          for (const [, page, address = ''] of String(data.final_answer).matchAll(/fact about <([^>\s]*)> \[[^\]]*\]\(([^)]*)\)/g)) {
            expect(normalizeUrl(address)).toBe(page)
            reached.citations++
          }
          expect(data.final_answer).not.toContain('[[S:')
        }
        if (type === 'chat.citations') {
          for (const { sid, url } of data.items as { sid: number; url: string }[]) expect(normalizeUrl(url)).toBe(pageOfSid.get(sid))
        }
      }
      reached.compactions += journal.filter(({ type }) => type === 'range.compacted').length
      reached.crashes += conversation.flat().filter(({ crashes }) => crashes).length
      reached.merged += journal.filter(({ type }) => type === 'sources.merged').length
      await harness.agent.close()
    }),
    { numRuns: 60 },
  )
  expect(reached.citations).toBeGreaterThan(300)
  for (const count of [reached.compactions, reached.crashes, reached.merged]) expect(count).toBeGreaterThan(20)
})

/** A tool that returns these results, one per call. */
function tool(results: readonly ((call: Call) => Returned)[]): Tool {
  let next = 0
  return defineTool({
    id: 'web.search',
    description: 'Finds pages.',
    params: z.object({}),
    run: (_, call) => (results[next++] as (call: Call) => Returned)(call),
  })
}

const twice = (answer: Reply) => [reply.call('web.search'), reply.call('web.search'), answer]

it('a second result shows the numbers of the pool, in its rows and in its text', async () => {
  const result = (names: string) => () =>
    succeeded({
      output: `${names} say so [[S:1,2]], and nobody says that [[S:3]].`,
      sources: [...names].map((name, index) => ({ sid: index + 1, url: `https://${name}.example`, text: `see [[S:${index + 1}]]` })),
    })
  const harness = createHarness({ replies: twice(reply.answer('B [[S:2]], c [[S:3]].')), tools: [tool([result('ab'), result('cb')])] })
  const { answer, sourcesUsed } = await harness.say('Who?')
  expect([answer, sourcesUsed]).toEqual(['B [[S:2]], c [[S:3]].', [2, 3]])
  const prompt = textOf(harness.model.requests.at(-1) as ModelRequest)
  expect(prompt).toContain('ab say so [[S:1,2]], and nobody says that .')
  expect(prompt).toContain('cb say so [[S:3,2]], and nobody says that .')
  const rows = await harness.agent.archive.sources('c1')
  expect(rows.map(({ sid, url, text }) => [sid, url, text])).toEqual([
    [1, 'https://a.example', 'see [[S:1]]'],
    [2, 'https://b.example', 'see [[S:2]]'],
    [3, 'https://c.example', 'see [[S:3]]'],
  ])
})

it('a file that cites the sources of its result gets the numbers of the pool: as text, as bytes, and on disk', async () => {
  const known = () => succeeded({ output: 'x', sources: [{ url: 'https://known.example' }] })
  const report = (name: string, has: 'text' | 'bytes' | 'disk') => async (call: Call) => {
    const physical_path = `${call.origin.turnId}/outputs/${name}`
    const text = 'Doors are red [[S:1]].'
    await (await call.workspace()).files.write(physical_path, Buffer.from(text))
    const digest = { artifact_path: `fi:${call.origin.turnId}.outputs/${name}`, physical_path, kind: 'file' as const, sources_used: [1] }
    const content = has === 'text' ? { text } : has === 'bytes' ? { bytes: Buffer.from(text) } : {}
    return succeeded({ artifacts: [{ digest, mime: 'text/markdown', ...content }], sources: [{ sid: 1, url: `https://${has}.example` }] })
  }
  const results = [known, report('a.md', 'text'), report('b.md', 'bytes'), report('c.md', 'disk')]
  const replies = [...results.map(() => reply.call('web.search')), reply.answer('Done.')]
  const harness = createHarness({ replies, tools: [tool(results)] })
  const { turnId } = await harness.say('Write.')
  const { files } = await harness.workspaces.open(localScope, 'c1')
  for (const [index, name] of ['a.md', 'b.md', 'c.md'].entries()) {
    const sid = index + 2
    const blocks = await harness.store.findByPath('c1', `fi:${turnId}.outputs/${name}`)
    expect(blocks.at(-1)).toMatchObject({ text: `Doors are red [[S:${sid}]].`, meta: { sources_used: [sid] } })
    expect(Buffer.from((await files.read(`${turnId}/outputs/${name}`)) ?? []).toString()).toBe(`Doors are red [[S:${sid}]].`)
  }
})

it('a tool that returns no rows keeps its text, and one whose rows are refused keeps no citation', async () => {
  const results = [
    () => 'Write [[S:1]] to cite.',
    () => succeeded({ output: 'So it is [[S:1]].', sources: [{ sid: 1 }, null, 7] as never }),
  ]
  const harness = createHarness({ replies: twice(reply.answer('Done.')), tools: [tool(results)] })
  await harness.say('How?')
  const prompt = textOf(harness.model.requests.at(-1) as ModelRequest)
  expect(prompt).toContain('Write [[S:1]] to cite.')
  expect(prompt).toContain('So it is .')
  expect(await harness.agent.archive.sources('c1')).toEqual([])
})

it('two skills that are read together keep their own sources', async () => {
  const skill = (name: string) => ({
    path: `sk:public.${name}`,
    text: `${name} is explained [[S:1]].`,
    sources: [{ sid: 1, url: `https://${name}.example`, title: name }],
  })
  const skills = { read: async (path: string) => skill(path.slice('sk:public.'.length)) }
  const replies = [reply.call('react.read', { paths: ['sk:public.a', 'sk:public.b'] }), reply.answer('Read.')]
  const harness = createHarness({ replies, builtIn: { skills } })
  await harness.say('Read both.')
  const prompt = textOf(harness.model.requests.at(-1) as ModelRequest)
  expect(prompt).toContain('a is explained [[S:1]].')
  expect(prompt).toContain('b is explained [[S:2]].')
  expect((await harness.agent.archive.sources('c1')).map(({ sid, title }) => [sid, title])).toEqual([
    [1, 'a'],
    [2, 'b'],
  ])
})

it('a result that contains itself does not end the turn', async () => {
  const circle: Record<string, unknown> = { sid: 1, url: 'https://a.example' }
  Object.assign(circle, { left: circle, right: circle })
  const harness = createHarness({
    replies: twice(reply.answer('Done.')),
    tools: [tool([() => [circle] as never, () => succeeded({ output: circle as never, sources: [circle] as never })])],
  })
  expect(await harness.say('Go.')).toMatchObject({ exitReason: 'complete', answer: 'Done.' })
})
