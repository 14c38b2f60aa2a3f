import { afterAll, describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../src/adapters/blobs/memory.ts'
import { createPdfReader } from '../src/adapters/documents/pdf.ts'
import { createOfflineModel } from '../src/adapters/model/offline/index.ts'
import { createMemoryStore } from '../src/adapters/store/memory.ts'
import { blocksOf } from '../src/core/timeline/timeline.ts'
import { type Agent, createAgent, documentEligibleMimes, type Upload } from '../src/index.ts'
import { createFixedClock } from '../src/testing/fixed-clock.ts'
import { handbook, lease, orders } from './support/offline-documents.ts'

const documents = createPdfReader()
afterAll(() => documents.close())

function stage(more: Partial<Parameters<typeof createAgent>[0]> = {}) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const settings = { sources: { eligibleMimes: documentEligibleMimes }, ...more.settings }
  const agent = createAgent({ documents, clock, store, ...more, settings, model: createOfflineModel({ documents }) })
  return {
    agent,
    ask: (input: string, ...attachments: readonly Upload[]) => ask(agent, input, attachments),
    blocks: async () => blocksOf((await store.loadVisible('c1'))?.timeline ?? raise('there is no conversation')),
    sources: async () => (await store.loadVisible('c1'))?.timeline.sources.rows ?? [],
  }
}

const ask = (agent: Agent, input: string, attachments: readonly Upload[] = []) =>
  agent.run({ conversation: 'c1', input, attachments }).result
const raise = (message: string): never => {
  throw new Error(message)
}

const plain = (text: string) => text.replace(/\s+/g, ' ')

/** Every line that is quoted, without its citation. */
const quotesIn = (answer: string) => [...answer.matchAll(/^> (.*?)(?: \[\[S:\d+\]\])?$/gm)].map(([, quote]) => quote as string)

const questions: readonly (readonly [
  what: { name: string; content: string | Uint8Array; pages?: readonly string[] },
  cases: readonly (readonly [question: string, quoted: string | undefined, named: readonly string[]])[],
])[] = [
  [
    handbook,
    [
      ['How many guests does the café seat?', 'Opened in 1987 by Ingrid Solberg, the café seats 42 guests.', ['line 3', 'handbook.md']],
      ['Which soup is not free of gluten?', 'Every soup is free of gluten, except the barley soup.', ['Allergies']],
      ['Wie lang ist die Kündigungsfrist?', 'Die Kündigungsfrist beträgt sechs Wochen zum Quartalsende.', ['Kündigung']],
    ],
  ],
  [
    orders,
    [
      ['How many orders came from Oslo?', '1002,2025-01-20,Oslo,Grinder,5,189.90', ['**3** rows', 'rows 2, 5, 6']],
      ['Which order has the highest price?', '1005,2025-03-05,Oslo,Espresso machine,1,1399.00', ['**1399.00**', 'row 5']],
      [
        'What is the total quantity per city?',
        undefined,
        ['| Bergen | **122** | rows 1, 3 |', '| Oslo | **66** | rows 2, 5, 6 |', '| Trondheim | **1** | row 4 |'],
      ],
    ],
  ],
  [
    lease,
    [
      ['How much is the monthly rent?', 'The monthly rent is 14500 kroner and is due on the third working day.', ['page 2 of 3']],
      ['Who is the tenant?', 'The tenant is Fjordlys AS.', ['page 1 of 3']],
      ['Who gets the keys back?', 'The keys are returned to Harald Vik.', ['page 3 of 3']],
    ],
  ],
]

describe('with no key and no network', () => {
  it.each(questions.map(([file, cases]) => [file.name, file, cases] as const))(
    'three questions about %s: quoted, cited, placed',
    async (_, file, cases) => {
      const { ask: say, sources } = stage()
      const whole = plain(file.pages?.join(' ') ?? String(file.content))
      for (const [index, [question, quoted, named]] of cases.entries()) {
        const { answer, sourcesUsed, exitReason } = await (index === 0 ? say(question, file) : say(question))
        expect(exitReason).toBe('complete')
        const [source] = await sources()
        expect(source).toMatchObject({ title: file.name })
        expect(sourcesUsed).toEqual([source?.sid])
        for (const quote of quotesIn(answer)) expect(whole).toContain(quote)
        if (quoted !== undefined) expect(quotesIn(answer)[0]).toBe(quoted)
        for (const name of named) expect(answer).toContain(name)
      }
    },
  )

  it('all three at once: it plans where it can be seen, reads, and cites the one that says it', async () => {
    const { ask: say, blocks, sources } = stage()
    const { answer, sourcesUsed } = await say('How much is the monthly rent of the boathouse?', handbook, orders, lease)
    const rows = await sources()
    expect(answer).toContain('page 2 of 3')
    expect(sourcesUsed).toEqual([rows.find(({ title }) => title === lease.name)?.sid])
    const shown = (await blocks()).map(({ type, text = '' }) => `${type} ${text}`)
    expect(shown.filter((line) => line.startsWith('react.plan '))).not.toEqual([])
    expect(shown.find((line) => line.startsWith('react.plan.ack'))).toContain('Read handbook.md, orders.csv — in progress')
    expect(shown.filter((line) => line.includes('protocol_violation'))).toEqual([])
  })
})
