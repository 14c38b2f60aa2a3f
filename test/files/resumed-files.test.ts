import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type Crash, type PlannedCall, runPlannedTurn } from '../support/histories/run-turn.ts'
import { createSystem } from '../support/histories/world.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-resumed-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const write = (rel: string, content: string): PlannedCall => ({ do: 'write', rel, content })
const program = (changes: Record<string, string | undefined>): PlannedCall => ({ do: 'program', changes })
const checkout = (mode: 'replace' | 'overlay', rel: string): PlannedCall => ({
  do: 'checkout',
  mode,
  force: true,
  sources: [{ turn: 0, rel }],
})
const look: PlannedCall = { do: 'look' }

/** The process dies when the result of this call is in the journal. The first process has entered the turn before. */
const afterResult = (call: number, machine: number, earlierCalls?: number): Crash => ({
  append: earlierCalls === undefined ? 3 + 2 * call : 2 + 2 * (call - earlierCalls),
  side: 'after',
  machine,
})

describe.each(['custom', 'git'] as const)('the files of a turn whose process dies (%s)', (kind) => {
  /** Runs the calls in the second turn of a conversation on machine 0. The model checks every look and the version. */
  async function run(calls: readonly PlannedCall[], crashes: readonly Crash[]) {
    const system = await createSystem(mkdtempSync(join(root, 'h-')), kind)
    let crashed = 0
    const count = (what: string) => {
      if (what.startsWith('crash')) crashed++
    }
    try {
      const calls0 = [write('app/a.md', 'old a\n'), write('app/b.md', 'old b\n')]
      const first = await runPlannedTurn(system, { id: 'c1', turns: [] }, { machine: 0, calls: calls0, crashes: [] }, count)
      const { turns } = await runPlannedTurn(system, first, { machine: 0, calls, crashes }, count)
      expect(crashed).toBe(crashes.length)
      return turns[1]?.version
    } finally {
      await system.close()
    }
  }

  it('are in its version when only a program wrote them and the turn is resumed at its end', async () => {
    const version = await run([program({ 'x.md': 'x\n' }), look], [{ append: 6, side: 'after', machine: 0 }])
    expect(version).toHaveProperty(['x.md'])
  })

  it('stay deleted on the same machine when a program has deleted all of them', async () => {
    const calls = [write('app/a.md', 'mine\n'), program({ 'app/a.md': undefined }), look]
    expect(await run(calls, [afterResult(1, 0)])).toEqual({ 'app/b.md': 'old b\n' })
  })

  it('are restored on another machine in the order in which they came', async () => {
    const overwritten = [write('app/a.md', 'mine\n'), checkout('overlay', 'app'), look]
    expect(await run(overwritten, [afterResult(1, 1)])).toEqual({ 'app/a.md': 'old a\n', 'app/b.md': 'old b\n' })
    const thrownAway = [write('app/c.md', 'mine\n'), checkout('replace', 'app/a.md'), write('d.md', 'd\n'), look]
    expect(await run(thrownAway, [afterResult(2, 1)])).toEqual({ 'app/a.md': 'old a\n', 'app/b.md': 'old b\n', 'd.md': 'd\n' })
  })

  it('are those of the journal on a machine that comes back to the turn after another one had it', async () => {
    const calls = [write('app/a.md', 'first\n'), write('app/a.md', 'second\n'), write('e.md', 'e\n'), look]
    const version = await run(calls, [afterResult(0, 1), afterResult(2, 0, 1)])
    expect(version).toEqual({ 'app/a.md': 'second\n', 'app/b.md': 'old b\n', 'e.md': 'e\n' })
  })
})
