import type { Sandbox, SandboxLanguage, SandboxRequest } from '../../ports/sandbox.ts'
import { openSandboxFixture, type SandboxFixture, type SandboxPrograms, sandboxPrograms } from './sandbox-programs.ts'
import type { TestRunner } from './test-runner.ts'

/**
 * The tests that every `Sandbox` must pass. `create` makes a sandbox that gives a program at most one second to end by itself after its
 * time limit.
 */
export function describeSandbox({ describe, it, expect }: TestRunner, name: string, create: () => Promise<Sandbox>): void {
  const withFixture = async (test: (fixture: SandboxFixture) => Promise<void>) => {
    const fixture = await openSandboxFixture(await create())
    try {
      await test(fixture)
    } finally {
      await fixture.remove()
    }
  }
  const exited = (exitCode: number) => ({ kind: 'exited', exitCode })

  for (const [id, code] of Object.entries(sandboxPrograms) as [SandboxLanguage['id'], SandboxPrograms][])
    describe(`${name} runs ${id} programs`, () => {
      it('names the language and its version', async () => {
        const language = (await create()).languages.find((each) => each.id === id)
        expect(Number.parseInt(language?.version ?? '', 10) > 0).toBe(true)
      })

      it('starts them in the folder of the turn, with the paths of their folders in variables', () =>
        withFixture(async ({ run, write, folders }) => {
          const context = { 'timeline.json': await write('timeline.json', '{"blocks":[]}') }
          const report = await run(id, code.showVariables, { folders: { ...folders, context } })
          const log = id === 'python' ? 'True True True' : 'true true true'
          expect(report).toMatchObject({ end: exited(0), log: `${log}\n{"blocks":[]}\n`, logBytesDropped: 0, sandboxLog: '' })
        }))

      it('lets them read earlier turns, and write to the folder of the turn and to the work folder', () =>
        withFixture(async ({ run, write, read }) => {
          await write('out/turn_1/files/a.txt', 'earlier')
          expect(await run(id, code.copyHistory)).toMatchObject({ end: exited(0), log: '' })
          expect([await read('out/turn_2/files/b.txt'), await read('work/w.txt')]).toEqual(['earlier!', 'w'])
        }))

      it('does not let them change earlier turns and the attachments of this turn', () =>
        withFixture(async ({ run, write, read }) => {
          const files = ['out/turn_1/files/a.txt', 'out/turn_2/attachments/b.txt']
          for (const file of files) await write(file, 'earlier')
          for (const program of [code.writeToHistory, code.writeToAttachments])
            expect(await run(id, program)).toMatchObject({ end: exited(1) })
          for (const file of files) expect(await read(file)).toBe('earlier')
        }))

      it('reports an error with the line of the program', () =>
        withFixture(async ({ run }) => {
          const { end, log } = await run(id, code.failInLine3)
          expect(end).toEqual(exited(1))
          expect((log.includes('program.py", line 3') || log.includes('program.mjs:3')) && log.includes('broken')).toBe(true)
          expect(log.includes('/guest/')).toBe(false)
        }))

      it('lets them wait outside of a function', () =>
        withFixture(async ({ run }) => expect(await run(id, code.waitAtTopLevel)).toMatchObject({ end: exited(0), log: 'awaited\n' })))

      it('reports their exit code', () => withFixture(async ({ run }) => expect((await run(id, code.exitWith3)).end).toEqual(exited(3))))

      it('keeps the order of output and error messages, and removes terminal escapes', () =>
        withFixture(async ({ run }) => {
          const lines = Array.from({ length: 50 }, (_, n) => `o${n}\ne${n}\n`).join('')
          expect((await run(id, code.mixedOutput)).log).toBe(`${lines}red\n`)
        }))

      it('ends them after their time limit, and keeps what they wrote', () =>
        withFixture(async ({ run, read }) => {
          const { end } = await run(id, code.startThenSleep, { timeoutSeconds: 2 })
          expect(end).toMatchObject({ kind: 'limit', limit: 'timeout' })
          expect(await read('out/turn_2/files/started')).toBe('yes')
        }))

      it('ends them when they are cancelled, even before they started', () =>
        withFixture(async ({ run }) => {
          const afterAWhile = AbortSignal.timeout(500)
          expect((await run(id, code.startThenSleep, { signal: afterAWhile })).end).toEqual({ kind: 'cancelled' })
          expect((await run(id, code.startThenSleep, { signal: AbortSignal.abort() })).end).toEqual({ kind: 'cancelled' })
        }))
    })

  for (const [id, code] of Object.entries(sandboxPrograms) as [SandboxLanguage['id'], SandboxPrograms][])
    describe(`${name} answers requests of ${id} programs`, () => {
      /** Answers requests as a runtime might: it returns the path of the request, or the parameters of the tool call. */
      const answerFor = (requests: SandboxRequest[]) => async (request: SandboxRequest) => {
        requests.push(request)
        if (request.kind === 'tool_call' && request.toolId === 'shell.run') throw new Error('the tool shell.run can not be called')
        if (request.kind === 'tool_call') return request.params
        if (request.path === 'missing') throw new Error('the store is closed')
        return { ret: [request.path], err: null }
      }
      const tools = ['web_tools.web_search', 'bytes_tools.echo', 'json.dumps', 'console.log', 'bad id']
      const runAsking = async ({ run }: SandboxFixture, program: string) => {
        const requests: SandboxRequest[] = []
        const report = await run(id, program, { tools, answer: answerFor(requests) })
        return { requests, end: report.end, log: report.log }
      }

      it('gives them the content of the conversation; a failed request returns an error and throws nothing', () =>
        withFixture(async (fixture) => {
          const { end, log, requests } = await runAsking(fixture, code.askForContext)
          const paths = ['so:sources_pool[1,3]', 'ar:x', 'a', 'b']
          const failed = { ret: null, err: { code: 'tool_failure', message: 'the store is closed' } }
          expect({ end, log }).toEqual({
            end: exited(0),
            log: `${JSON.stringify([...paths.map((path) => ({ ret: [path], err: null })), failed])}\n`,
          })
          expect(requests).toEqual([...paths, 'missing'].map((path) => ({ kind: 'fetch_ctx', path })))
        }))

      it('lets them call tools in every form', () =>
        withFixture(async (fixture) => {
          const { log, requests } = await runAsking(fixture, code.callTools)
          const call = (query: string) => ({ kind: 'tool_call', toolId: 'web_tools.web_search', params: { query } })
          expect(log).toBe('[{"query":"a"},{"query":"b"},{"query":"c"},{"query":"d"},{"query":"e"}]\n')
          expect(requests).toEqual([{ ...call('a'), reason: 'because' }, ...['b', 'c', 'd', 'e'].map(call)])
        }))

      it('turns a refused call into an exception with the reason', () =>
        withFixture(async (fixture) =>
          expect((await runAsking(fixture, code.callForbiddenTool)).log).toBe('refused: the tool shell.run can not be called\n'),
        ))

      it('passes bytes in both directions', () =>
        withFixture(async (fixture) => {
          const { log, requests } = await runAsking(fixture, code.sendBytes)
          expect(log.toLowerCase()).toBe('true true\n')
          expect(requests).toMatchObject([{ params: { list: [{ __type__: 'bytes', __data__: 'eA==' }] } }])
        }))

      it('answers several requests at the same time', () =>
        withFixture(async (fixture) => expect((await runAsking(fixture, code.askTogether)).log.toLowerCase()).toBe('true\n')))
    })

  describe(`${name} checks what it is asked to run`, () => {
    it('rejects an unknown language, a folder that does not exist and a name that leads out of a folder', () =>
      withFixture(async ({ run, folders, folder }) => {
        const invalid = { name: 'InvalidOption' }
        await expect(run('cobol' as 'python', '')).rejects.toMatchObject(invalid)
        await expect(run('python', '', { execId: '../x' })).rejects.toMatchObject(invalid)
        for (const wrong of [
          { out: `${folder}/missing` },
          { work: `${folder}/missing` },
          { turn: 'turn_9' },
          { turn: '..' },
          { turn: 'turn_1/files' },
          { context: { a: `${folder}/missing` } },
          { context: { '../a': '/etc/hosts' } },
        ])
          await expect(run('python', '', { folders: { ...folders, ...wrong } })).rejects.toMatchObject(invalid)
      }))

    it('runs an empty program', () => withFixture(async ({ run }) => expect((await run('python', '')).end).toEqual(exited(0))))
  })
}
