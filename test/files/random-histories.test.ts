import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { createHarness } from '../../src/testing/harness.ts'
import { type Conversation, type Crash, checkVersion, type PlannedCall, runPlannedTurn } from '../support/histories/run-turn.ts'
import { createSystem, type Machine, type System } from '../support/histories/world.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-histories-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** With `HISTORIES=<n>`, so many random histories are run. Otherwise always the same ones, so that the counts below are never 0 by chance. */
const runs = Number(process.env.HISTORIES ?? 0)
const sample = runs > 0 ? { numRuns: runs } : { numRuns: 5, seed: 3 }

const rel = fc.constantFrom('app/a.md', 'app/b.md', 'lib/x.md', 'lib/deep/y.md', 'top.md', 'logs/l.md', 'app/node_modules/m.md')
const folder = fc.constantFrom('', '', 'app', 'lib', 'lib/deep', 'top.md', 'logs', 'app/a.md')
const machine = fc.nat(1)
const turn = fc.nat(9)
let contents = 0
const content = fc.constant(0).map(() => `content ${++contents}\n`)

const look: PlannedCall = { do: 'look' }
const steps: fc.Arbitrary<readonly PlannedCall[]> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ rel, content }).map((each) => [{ do: 'write', ...each } as const, look]) },
  { weight: 2, arbitrary: fc.record({ rel, content }).map((each) => [{ do: 'patch', ...each } as const, look]) },
  {
    weight: 4,
    arbitrary: fc
      .dictionary(rel, fc.option(content, { nil: undefined }), { minKeys: 1, maxKeys: 3 })
      .map((changes) => [{ do: 'program', changes } as const, look]),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({
        mode: fc.constantFrom('replace' as const, 'overlay' as const),
        force: fc.boolean(),
        sources: fc.array(fc.record({ turn, rel: folder }), { minLength: 1, maxLength: 2 }),
      })
      .map((each) => [{ do: 'checkout', ...each } as const, look]),
  },
  {
    weight: 2,
    arbitrary: fc.record({ turn, rel: folder }).map((each) => [{ do: 'pull', ...each } as const, { do: 'lookAt', ...each } as const]),
  },
  { weight: 2, arbitrary: fc.record({ turn, rel }).map((each) => [{ do: 'read', ...each } as const, { do: 'echo', ...each } as const]) },
)

const crash: fc.Arbitrary<Crash> = fc.record({
  append: fc.integer({ min: 1, max: 12 }),
  side: fc.constantFrom('before' as const, 'after' as const),
  machine,
})

const conversation = fc.nat(9)
const event = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('turn' as const),
      conversation,
      machine,
      steps: fc.array(steps, { minLength: 1, maxLength: 5 }),
      crashes: fc.oneof(
        { weight: 2, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(crash, { minLength: 1, maxLength: 2 }) },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fork' as const), conversation, machine, turn }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('copy' as const), conversation, machine }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), conversation, machine }) },
)
type Event = typeof event extends fc.Arbitrary<infer E> ? E : never

/** Sets the positions of turns to turns that the conversation has. Calls about earlier turns are left out if there is none. */
function boundCalls(steps_: readonly (readonly PlannedCall[])[], turns: number): readonly PlannedCall[] {
  return steps_.flat().flatMap((call): readonly PlannedCall[] => {
    if ('sources' in call)
      return turns === 0 ? [] : [{ ...call, sources: call.sources.map((each) => ({ ...each, turn: each.turn % turns })) }]
    if ('turn' in call) return turns === 0 ? [] : [{ ...call, turn: call.turn % turns }]
    return [call]
  })
}

async function runHistory(system: System, events: readonly Event[], count: (what: string) => void): Promise<readonly Conversation[]> {
  let conversations: readonly Conversation[] = [{ id: 'c0', turns: [] }]
  let created = 1
  for (const each of events) {
    const at = each.conversation % conversations.length
    const chosen = conversations[at] as Conversation
    const { store, workspaces } = system.machines[each.machine] as Machine
    const { archive } = createHarness({ replies: [], store, workspaces, clock: system.clock }).agent
    if (each.do === 'turn') {
      const calls = boundCalls(each.steps, chosen.turns.length)
      const next = await runPlannedTurn(system, chosen, { machine: each.machine, calls, crashes: each.crashes }, count)
      conversations = conversations.with(at, next)
      count('turn')
      continue
    }
    if (chosen.turns.length === 0) continue
    if (each.do === 'delete') {
      if (conversations.length === 1) continue
      await archive.delete(chosen.id)
      conversations = conversations.toSpliced(at, 1)
      count('delete')
      continue
    }
    const id = `c${created++}`
    const turns = each.do === 'fork' ? chosen.turns.slice(0, (each.turn % chosen.turns.length) + 1) : chosen.turns
    if (each.do === 'fork') await archive.fork(chosen.id, id, turns.at(-1)?.turnId)
    else await archive.importBundle(JSON.parse(JSON.stringify(await archive.exportBundle(chosen.id))), id)
    conversations = [...conversations, { id, turns }]
    count(each.do)
  }
  return conversations
}

it.each(['custom', 'git'] as const)(
  'every turn leaves what the model says, over histories on two machines (%s)',
  async (kind) => {
    const counts = new Map<string, number>()
    const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 6, maxLength: 14 }), async (events) => {
        const place = mkdtempSync(join(root, 'h-'))
        const system = await createSystem(place, kind)
        try {
          const conversations = await runHistory(system, events, count)
          for (const conversation of conversations) {
            for (const position of conversation.turns.keys()) {
              for (const machine of system.machines) await checkVersion(machine, conversation, position)
              count('version')
            }
          }
        } finally {
          await system.close()
          rmSync(place, { recursive: true, force: true })
        }
      }),
      { ...sample, endOnFailure: true }, // a failing history is long, and shrinking it takes minutes
    )
    if (runs > 0) console.log(kind, Object.fromEntries(counts))
    for (const what of [
      'turn',
      'write',
      'patch',
      'program',
      'checkout',
      'pull',
      'lookAt',
      'read',
      'echo',
      'fork',
      'copy',
      'delete',
      'version',
    ]) {
      expect([what, (counts.get(what) ?? 0) > 0]).toEqual([what, true])
    }
    for (const where of ['the same', 'another'])
      expect([where, (counts.get(`crash, resumed on ${where} machine`) ?? 0) > 0]).toEqual([where, true])
  },
  600_000 + runs * 60_000,
)
