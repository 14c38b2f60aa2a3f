import { chmodSync, existsSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { describeSandbox } from '../../testing/conformance/sandbox.ts'
import { openSandboxFixture, type SandboxFixture } from '../../testing/conformance/sandbox-programs.ts'
import { type BubblewrapOptions, createBubblewrapSandbox, findSandbox } from './index.ts'

const found = await findSandbox()
const languages = found.sandbox?.languages ?? []

// A machine without bubblewrap can not run these tests. With CI=true, `npm test` fails on such a machine before the tests run.
describe.skipIf(found.sandbox === undefined)('bubblewrap', () => {
  describeSandbox({ describe, it, expect }, 'createBubblewrapSandbox', async () => createBubblewrapSandbox({ languages, graceMs: 1_000 }))

  async function withFixture(options: Partial<BubblewrapOptions>, test: (fixture: SandboxFixture) => Promise<void>): Promise<void> {
    const fixture = await openSandboxFixture(createBubblewrapSandbox({ languages, ...options }))
    try {
      await test(fixture)
    } finally {
      await fixture.remove()
    }
  }
  const exited = (exitCode: number) => ({ kind: 'exited', exitCode })

  it('does not start a program if its folders are too large', () =>
    withFixture({ workspaceBytes: 100_000 }, async ({ run, write, read }) => {
      await write('work/large', 'x'.repeat(100_001))
      const { end, log } = await run('python', 'open("files/ran", "w")')
      expect([end, log]).toMatchObject([{ kind: 'limit', limit: 'workspace_size_limit' }, ''])
      await expect(read('out/turn_2/files/ran')).rejects.toMatchObject({ code: 'ENOENT' })
    }))

  it('lets a program end by itself after its time limit', () =>
    withFixture({ graceMs: 30_000 }, async ({ run, read }) => {
      const code = `
import signal, sys, time
def finish(*_):
  open("files/partial", "w").write("saved")
  sys.exit(0)
signal.signal(signal.SIGTERM, finish)
time.sleep(600)`
      expect((await run('python', code, { timeoutSeconds: 2 })).end).toMatchObject({ kind: 'limit', limit: 'timeout' })
      expect(await read('out/turn_2/files/partial')).toBe('saved')
    }))

  it('runs programs of one conversation one after another', () =>
    withFixture({}, async ({ run, read }) => {
      const code = 'import time\nfor _ in range(5):\n  (WORKDIR / "log").open("a").write(NAME)\n  time.sleep(0.02)'
      await Promise.all(['a', 'b', 'c'].map((name) => run('python', `NAME = "${name}"\n${code}`)))
      expect(await read('work/log')).toMatch(/^(?:aaaaa|bbbbb|ccccc){3}$/)
    }))

  it('can be cancelled while it waits for another program of the conversation', () =>
    withFixture({}, async ({ run, write, folder }) => {
      const first = run('python', 'import time\nopen("files/started", "w")\nwhile not (WORKDIR / "go").exists(): time.sleep(0.01)')
      await expect.poll(() => existsSync(`${folder}/out/turn_2/files/started`)).toBe(true)
      const second = run('python', '', { signal: AbortSignal.timeout(50) })
      const third = run('python', 'print("third")')
      expect((await second).end).toEqual({ kind: 'cancelled' })
      await write('work/go', '')
      expect([(await first).end, (await third).log]).toEqual([exited(0), 'third\n'])
    }))

  it('lets programs read files that only the owner can read, and gives all files back', () =>
    withFixture({}, async ({ run, write, folders, folder }) => {
      const secret = await write('out/turn_1/files/private.txt', 'private')
      const context = await write('timeline.json', '{}')
      for (const path of [secret, context]) chmodSync(path, 0o600)
      const code = 'print((OUT_DIR / "turn_1/files/private.txt").read_text(), (CONTEXT_DIR / "t.json").read_text())\nopen("files/new", "w")'
      const report = await run('python', code, { folders: { ...folders, context: { 't.json': context } } })
      expect([report.end, report.log]).toEqual([exited(0), 'private {}\n'])
      const owners = [secret, context, `${folder}/out/turn_2/files/new`, `${folder}/work`].map((path) => statSync(path).uid)
      expect(new Set(owners)).toEqual(new Set([process.getuid?.()]))
    }))

  it('has the packages that it names', () =>
    withFixture({}, async ({ run }) => {
      const packages = languages.find(({ id }) => id === 'python')?.packages ?? []
      const wanted = packages.filter(({ name }) => ['numpy', 'pandas', 'matplotlib', 'six'].includes(name))
      const lines = wanted.map(({ name }) => `import ${name}\nprint(${name}.__version__)`).join('\n')
      const report = await run('python', `${lines}\nexit()`)
      expect([report.end, report.log.trim().split('\n')]).toEqual([exited(0), wanted.map(({ version }) => version)])
      const versions = `from importlib.metadata import version\n${wanted.map(({ name }) => `print(version("${name}"))`).join('\n')}`
      expect((await run('python', versions)).log.trim().split('\n')).toEqual(wanted.map(({ version }) => version))
    }))

  it('names the loader of each language, which is kept with each program', () => {
    expect(languages.map(({ loader }) => loader?.includes('the program of a model'))).toEqual(languages.map(() => true))
  })
})

describe('findSandbox', () => {
  it('leaves out a language whose programs can not run, and says why', async () => {
    const found = await findSandbox({ limits: { memoryBytes: 1 } })
    expect(found.sandbox?.languages.map(({ id }) => id) ?? []).not.toContain('python')
    expect(found.sandbox ? found.advice.join() : found.reason).toContain('Python programs can not run in a sandbox here: ')
  })

  it('says why programs can not run, if a limit does not let them start', async () => {
    const none = await findSandbox({ workspaceBytes: -1 })
    expect(none.sandbox === undefined ? none.reason : 'found').toMatch(
      /^Python programs can not run .*, so the program was not started; JavaScript/,
    )
  })
})
