import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { peers, type Workload, workloads } from '../bench/peers/catalog.ts'
import { parseOptions } from '../bench/peers/options.ts'
import { addingScript, roundOf } from '../bench/peers/script.ts'
import { combine, formatNumber, pageWith, type Result, sectionOf, tableOf } from '../bench/peers/table.ts'

const folder = 'bench/peers'
const workload: Workload = {
  name: 'example',
  title: 'An example',
  about: 'What it does.',
  metrics: [
    { id: 'time', title: 'round', unit: 'ms', better: 'less' },
    { id: 'rate', title: 'turns per second', unit: '/s', better: 'more' },
    { id: 'end', title: 'end', unit: '', better: 'words' },
  ],
  runs: 1,
  seconds: 1,
}
const results = new Map<string, Result>([
  ['floor', { measured: { time: 0.01, rate: 900, end: 'none' } }],
  ['daybook', { measured: { time: 2, rate: 100, end: 'good' } }],
  ['pi', { measured: { time: 1, rate: 50, end: 'good' } }],
  ['ai-sdk', { problem: 'npm could not install it: 404' }],
])

describe('the comparison with other frameworks', () => {
  it('has the code of every workload, and the code and a package of every framework', () => {
    const files = readdirSync(join(folder, 'workloads')).filter((file) => file !== 'measured.ts')
    expect(files.sort()).toEqual(workloads.map(({ name }) => `${name}.ts`).sort())
    for (const { name, leavesOut } of peers) {
      const code = readFileSync(join(folder, name, 'peer.mjs'), 'utf8')
      expect(code, name).toMatch(/^export async function open\(/m)
      expect(code, name).toMatch(/^export const imports = /m)
      const needs: Record<string, RegExp> = { history: /\bseed\(/, kill: /\bresume\b/ }
      for (const [needed, pattern] of Object.entries(needs)) if (!leavesOut[needed]) expect(code, `${name}: ${needed}`).toMatch(pattern)
      for (const [left, reason] of Object.entries(leavesOut)) {
        expect(workloads.map((each) => each.name)).toContain(left)
        expect(reason).not.toBe('')
      }
    }
  })

  it('pins each framework in a package of its own, without download addresses, which the product does not install', () => {
    const root = JSON.parse(readFileSync('package.json', 'utf8')) as { workspaces: readonly string[] }
    expect(root.workspaces).toEqual(['ui'])
    for (const name of [...peers.map((peer) => peer.name), 'postgres'].filter((each) => each !== 'floor' && each !== 'daybook')) {
      const lock = readFileSync(join(folder, name, 'package-lock.json'), 'utf8')
      expect(lock).toContain('"lockfileVersion": 3')
      expect(lock).not.toContain('"resolved"')
    }
    expect(existsSync(join(folder, 'daybook', 'package-lock.json'))).toBe(false) // the runner installs the packed checkout
  })

  it('runs everything without options, and names what can be chosen if an option is wrong', () => {
    const all = { workloads: workloads.map(({ name }) => name), peers: peers.map(({ name }) => name), isQuick: false, skipsInstall: false }
    expect(parseOptions([])).toEqual(all)
    expect(parseOptions(['--only', 'rounds', '--only', 'kill', '--peer', 'pi', '--quick', '--installed'])).toEqual({
      workloads: ['rounds', 'kill'],
      peers: ['pi'],
      isQuick: true,
      skipsInstall: true,
    })
    expect(() => parseOptions(['--peer', 'pie'])).toThrow('--peer needs one of floor, daybook, pi,')
    expect(() => parseOptions(['--only'])).toThrow('--only needs one of rounds, bytes,')
    expect(() => parseOptions(['--slow'])).toThrow('There is no option --slow.')
  })

  it('takes the best number and the last word of several runs', () => {
    const runs = [
      { time: 3, rate: 10, end: 'late' },
      { time: 2, rate: 30, end: 'good' },
    ]
    expect(combine(workload.metrics, runs)).toEqual({ time: 2, rate: 30, end: 'good' })
  })

  it('shows multiples of Daybook, names failures, and says in words where another framework is better', () => {
    expect(tableOf(workload, results)).toBe(
      `|  | round (ms) | turns per second | end |
|---|---|---|---|
| no framework | 0.01 (0.005×) | 900 (9×) | none |
| Daybook | 2 | 100 | good |
| pi | 1 (0.5×) | 50 (0.5×) | good |
| AI SDK | failed: npm could not install it: 404 |  |  |

- round: better than Daybook (2 ms): pi (1).
- turns per second: no other framework is better than Daybook (100 /s).`,
    )
  })

  it('writes the section of a workload, and keeps the sections of the others in their order', () => {
    const other: Workload = { ...workload, name: 'other', title: 'Another' }
    const all = [workload, other]
    const first = pageWith('', all, 'other', sectionOf(other, results, '2026-01-02, Node 24'))
    const both = pageWith(first, all, 'example', sectionOf(workload, results, '2026-01-03, Node 24'))
    expect(both).toContain('## An example\n\nWhat it does.\n\n2026-01-03, Node 24:\n\n|  | round (ms) |')
    expect(both.indexOf('## An example')).toBeLessThan(both.indexOf('## Another'))
    expect(both.match(/^## /gm)).toHaveLength(2)
    const again = pageWith(both, all, 'other', sectionOf(other, results, '2026-01-04, Node 24'))
    expect(again).toBe(both.replace('2026-01-02', '2026-01-04'))
  })

  it('formats numbers with three digits', () => {
    expect([0.0123, 0.5, 1.234, 56.78, 123.4, 12345.6].map(formatNumber)).toEqual(['0.012', '0.5', '1.23', '56.8', '123', '12,346'])
  })
})

describe('the scripted model of the comparison', () => {
  it('calls the tool in every round but the last', () => {
    const { respond } = addingScript(3, { callsPerRound: 2 })
    expect([0, 1, 2].map((round) => respond(round).calls.length)).toEqual([2, 2, 0])
  })

  it('finds the round of a request by the responses since the last message of the user', () => {
    const roleOf = (role: 'user' | 'assistant' | 'other') => role
    expect(roundOf(['user', 'assistant', 'other', 'user'], roleOf)).toBe(0)
    expect(roundOf(['user', 'assistant', 'user', 'assistant', 'other', 'assistant', 'other'], roleOf)).toBe(2)
  })
})
