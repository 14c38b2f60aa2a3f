import { z } from 'zod'
import { defineTool } from '../../src/tools/define.ts'
import type { Tool } from '../../src/tools/tool.ts'

/** Parallel tools that return when the test says so, and a list of what happened in order. */
export interface ParallelTools {
  readonly tools: readonly Tool[]
  /** What happened, for example `a starts`. */
  readonly log: string[]
  /** Lets a running tool return. Waits until the tool runs. */
  finish(name: string): Promise<void>
  /** Resolves when the tool runs. */
  running(name: string): Promise<void>
}

/** Tools `par.<name>` that declare `parallel`. */
export function createParallelTools(names: readonly string[]): ParallelTools {
  const log: string[] = []
  const gates = new Map(names.map((name) => [name, { started: Promise.withResolvers<void>(), finished: Promise.withResolvers<void>() }]))
  const gate = (name: string) => {
    const found = gates.get(name)
    if (!found) throw new Error(`there is no tool ${name}`)
    return found
  }
  const tools = names.map((name) =>
    defineTool({
      id: `par.${name}`,
      description: `Does ${name}.`,
      params: z.object({ word: z.string().optional() }),
      parallel: true,
      async run({ word = name }, { signal }) {
        log.push(`${name} starts`)
        gate(name).started.resolve()
        const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
        await Promise.race([gate(name).finished.promise, aborted])
        log.push(`${name} returns`)
        return { said: word }
      },
    }),
  )
  return {
    tools,
    log,
    running: (name) => gate(name).started.promise,
    async finish(name) {
      await gate(name).started.promise
      gate(name).finished.resolve()
    },
  }
}
