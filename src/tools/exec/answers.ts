import type { Json, JsonObject } from '../../core/json.ts'
import { mergeSources } from '../../core/sources/pool.ts'
import type { IncomingSource } from '../../core/sources/source.ts'
import type { SandboxProgram } from '../../ports/sandbox.ts'
import type { Workspace } from '../../ports/workspace.ts'
import type { OutcomeParts } from '../outcome.ts'
import type { Call } from '../tool.ts'
import type { ExecOptions } from './exec-tools.ts'
import { fetchContext } from './fetch-ctx.ts'
import { callToolFromCode } from './tool-calls.ts'

/** Answers the requests of one running program, and collects what its tool calls returned for the timeline. */
export interface Answers {
  readonly answer: SandboxProgram['answer']
  /**
   * Must be called when the program has ended. It cancels the tools that are still running for the program, and waits until they have
   * ended.
   */
  close(): Promise<void>
  /** One record for each tool that the program called, for the report. */
  calls(): readonly JsonObject[]
  /** The sources, files, notices and blocks of the called tools. They become part of the result of the exec tool. */
  results(): OutcomeParts
}

/** How often and how much one program may read with `fetch_ctx`. */
const maxFetches = 1_000
const maxFetchedBytes = 256 * 1024 * 1024
/** How many tool calls of a program are recorded, including refused calls. Further calls are not recorded. */
const maxRecordedCalls = 60

/** Makes the answers for one program. `workspace` is the workspace that the called tools get. It has the files that the program sees. */
export function createAnswers(call: Call, workspace: Workspace, options: ExecOptions): Answers {
  const calls: JsonObject[] = []
  const fetched = { requests: 0, bytes: 0 }
  const parts: OutcomeParts[] = []
  const ended = new AbortController()
  const signal = AbortSignal.any([call.signal, ended.signal])
  let started = 0
  let { sources: pool } = call.timeline
  let last: Promise<unknown> = Promise.resolve()

  /** Adds sources to the pool that is used for later requests of this program. The journal gets them with the result of the exec tool. */
  function addSources(rows: readonly IncomingSource[]): void {
    pool = mergeSources(pool, rows).pool
    parts.push({ sources: rows })
  }

  /**
   * Reads context for a program. The number of requests and the bytes that they read are limited, because the runtime does this work and
   * not the sandbox.
   */
  async function fetchWithinLimits(path: string): Promise<Json> {
    if (++fetched.requests > maxFetches || fetched.bytes > maxFetchedBytes)
      return { ret: null, err: { code: 'tool_failure', message: 'The program has used fetch_ctx too often.' } }
    const answer = await fetchContext(path, current(), options.readers, addSources)
    fetched.bytes += JSON.stringify(answer).length
    return answer
  }

  const current = (): Call => ({ ...call, signal, timeline: { ...call.timeline, sources: pool }, workspace: async () => workspace })

  return {
    async answer(request) {
      if (request.kind === 'fetch_ctx') return fetchWithinLimits(request.path)
      if (ended.signal.aborted) throw new Error('the program has ended')
      const number = ++started
      // One call after the other, because the SIDs of a call begin after the SIDs of the previous call.
      const running = last.then(async () => {
        const { answer, record, results } = await callToolFromCode(request, number, current(), options)
        if (calls.length < maxRecordedCalls) calls.push(record)
        if (results.sources) addSources(results.sources)
        parts.push({ ...results, sources: [] })
        return answer
      })
      last = running.catch(() => undefined) // the program gets the error through `running`
      const answer = await running
      if (answer instanceof Error) throw answer
      return answer
    },
    async close() {
      ended.abort(new DOMException('The program has ended.', 'AbortError'))
      await last
    },
    calls: () => calls,
    results: () => joinParts(parts),
  }
}

function joinParts(parts: readonly OutcomeParts[]): OutcomeParts {
  const join = <T>(pick: (part: OutcomeParts) => readonly T[] | undefined): readonly T[] => parts.flatMap((part) => pick(part) ?? [])
  const [notices, artifacts, drafts] = [join(({ notices }) => notices), join(({ artifacts }) => artifacts), join(({ drafts }) => drafts)]
  const [after, changes, sources] = [join(({ after }) => after), join(({ changes }) => changes), join(({ sources }) => sources)]
  return {
    ...(notices.length > 0 && { notices }),
    ...(artifacts.length > 0 && { artifacts }),
    ...(drafts.length > 0 && { drafts }),
    ...(after.length > 0 && { after }),
    ...(changes.length > 0 && { changes }),
    ...(sources.length > 0 && { sources }),
  }
}
