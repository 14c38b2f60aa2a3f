import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findSandbox } from '../src/adapters/sandbox/index.ts'
import { header, prompt } from '../src/testing/blocks.ts'
import { createExecTools } from '../src/tools/exec/exec-tools.ts'
import { toolFixture } from '../test/support/tool-fixture.ts'
import { median, report, timed } from './measure.ts'

const RUNS = 40
const hello = 'print("hello")'

/**
 * Measures a small Python program in three ways: in bubblewrap alone, in the sandbox, and with the whole tool. Compares the second and
 * third way with the first.
 */
export async function bench(): Promise<void> {
  const found = await findSandbox()
  if (!found.sandbox) return console.log(`no sandbox: ${found.reason}`)
  const { sandbox } = found
  const folder = mkdtempSync(join(tmpdir(), 'daybook-bench-'))
  mkdirSync(join(folder, 'out/t1/files'), { recursive: true })
  mkdirSync(join(folder, 'work'))
  const bare = ['--unshare-all', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '/usr/bin/python3', '-c', hello]
  const { call } = await toolFixture([header(), prompt('go')])
  const [tool] = createExecTools({ sandbox, callable: [], readers: {}, limits: { timeoutMs: 60_000 } as never })
  const params = { contract: [{ filename: 't1/files/a.txt', description: 'a file' }], timeout_s: 60 }
  const ways = {
    bare: () => promisify(execFile)('/usr/bin/bwrap', bare),
    sandbox: () =>
      sandbox.run({
        execId: 'bench',
        language: 'python',
        code: hello,
        folders: { out: join(folder, 'out'), turn: 't1', work: join(folder, 'work'), context: {} },
        timeoutSeconds: 60,
        signal: new AbortController().signal,
        answer: async () => null,
      }),
    tool: () => tool?.run(params, { ...call, code: hello }),
  }
  const times: Record<keyof typeof ways, number[]> = { bare: [], sandbox: [], tool: [] }
  // The three ways alternate, so that other load affects all of them.
  for (let n = 0; n < RUNS; n += 1) for (const way of ['bare', 'sandbox', 'tool'] as const) times[way].push(await timed(ways[way]))
  rmSync(folder, { recursive: true, force: true })
  console.log(`bwrap python3 alone: ${median(times.bare).toFixed(1)} ms`)
  report('a Python program in the sandbox', median(times.sandbox) / median(times.bare), 1.6, 'bwrap python3')
  report('a Python program through the whole tool', median(times.tool) / median(times.bare), 1.6, 'bwrap python3')
}
