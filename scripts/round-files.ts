// Lists the source files whose code runs during one round with a tool call, from one model call to the next. The store is in memory.

import { Session } from 'node:inspector'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

interface FunctionCoverage {
  readonly functionName: string
  readonly ranges: readonly { readonly count: number }[]
}
interface ScriptCoverage {
  readonly url: string
  readonly functions: readonly FunctionCoverage[]
}

const coverage = openCoverage()
const { createAgentFrom } = await import('../src/agent/agent.ts')
const { createMemoryBlobs } = await import('../src/adapters/blobs/memory.ts')
const { createMemoryStore } = await import('../src/adapters/store/memory/store.ts')
const { createSystemClock } = await import('../src/adapters/clock/system.ts')
const { defineTool } = await import('../src/tools/define.ts')
const { reply, scriptedModel } = await import('../src/testing/scripted-model.ts')

/** The source files whose code runs in the second of three rounds with a tool call. Files in `src/testing` are left out. */
export async function filesOfToolRound({ watched }: { readonly watched: boolean }): Promise<readonly string[]> {
  const add = defineTool({
    id: 'sum.add',
    description: 'Adds.',
    params: z.object({ a: z.number(), b: z.number() }),
    run: ({ a, b }) => ({ sum: a + b }),
  })
  const call = reply.call('sum.add', { a: 1, b: 2 })
  let files: readonly string[] = []
  const model = scriptedModel([
    call,
    () => {
      coverage.take() // forgets everything before the second round
      return call
    },
    () => {
      files = coverage.take()
      return call
    },
    reply.answer('Added up.'),
  ])
  const clock = createSystemClock()
  const agent = createAgentFrom({ model, clock, tools: [add], store: createMemoryStore({ blobs: createMemoryBlobs(), clock }) })
  const turn = agent.run('c1', 'Add up.')
  if (watched) for await (const _event of turn);
  await turn.result
  await agent.close()
  return files.filter((path) => !path.startsWith('testing/'))
}

/** Starts counting function calls with V8. `take` returns the files in which a function was called since the previous call of `take`. */
function openCoverage() {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return {
    take(): readonly string[] {
      let scripts: readonly ScriptCoverage[] = []
      session.post('Profiler.takePreciseCoverage', (_error: unknown, answer: { result: readonly ScriptCoverage[] }) => {
        scripts = answer.result
      })
      return scripts
        .filter(({ url, functions }) => url.includes('/src/') && functions.some(wasCalled))
        .map(({ url }) => relative('src', fileURLToPath(url)))
        .sort()
    },
  }
}

/**
 * Whether a named function was called. Functions without a name are left out, because one of them is the module itself, which runs at
 * import.
 */
const wasCalled = ({ functionName, ranges }: FunctionCoverage) => functionName !== '' && (ranges[0]?.count ?? 0) > 0

if (import.meta.main) for (const file of await filesOfToolRound({ watched: process.argv[2] !== 'unwatched' })) console.log(file)
