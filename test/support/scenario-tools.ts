import { z } from 'zod'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { succeeded } from '../../src/tools/outcome.ts'
import type { Tool } from '../../src/tools/tool.ts'

/** A repeatable tool that returns the weather, which is always the same. */
export const weather = (): Tool =>
  defineTool({
    id: 'weather.today',
    description: 'The weather in a city.',
    params: z.object({ city: z.string().describe('which city'), days: z.number().int().optional().describe('how many days ahead') }),
    strategy: 'exploration',
    repeatable: true,
    run: ({ city }) => ({ ok: true, ret: { city, sky: 'clear', degrees: 21 } }),
  })

/**
 * A tool that runs until its signal is aborted. With `ignoresSignal` it ignores the signal and runs for `endsAfterMs`, or forever if
 * `endsAfterMs` is not set.
 */
export const slowTool = (
  options: { readonly started?: () => void; readonly ignoresSignal?: true; readonly endsAfterMs?: number } = {},
): Tool =>
  defineTool({
    id: 'slow.work',
    description: 'Takes its time.',
    params: z.object({}),
    run: (_, { signal }) =>
      new Promise((resolve, reject) => {
        options.started?.()
        if (!options.ignoresSignal) signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        else if (options.endsAfterMs !== undefined) setTimeout(() => resolve({ ok: true, ret: 'too late' }), options.endsAfterMs)
      }),
  })

/** A tool that runs until `finish` is called. Only one call may run at a time. */
export function pausedTool(): { readonly tool: Tool; finish(): void } {
  let finish = () => {}
  const run = () =>
    new Promise<{ ok: true; ret: string }>((resolve) => {
      finish = () => resolve({ ok: true, ret: 'done' })
    })
  return {
    tool: defineTool({ id: 'paused.work', description: 'Takes its time.', params: z.object({}), run }),
    finish: () => finish(),
  }
}

/** A tool that returns a long page, with which tests fill the context. */
export const library = (): Tool =>
  defineTool({
    id: 'library.fetch',
    description: 'A page of a book.',
    params: z.object({ page: z.number().int().describe('which page') }),
    strategy: 'exploration',
    repeatable: true,
    run: ({ page }) => `Page ${page}. ${`House ${page} has a bright red door. `.repeat(180)}`,
  })

/** An exec tool that does not run the program. */
export const program = (): Tool =>
  defineTool({
    id: 'sample.run',
    description: 'Runs a program.',
    params: z.object({
      contract: z.array(z.object({ filename: z.string(), description: z.string() })).describe('the files that the program makes'),
      prog_name: z.string().optional().describe('what to call it'),
    }),
    exec: true,
    run: (_, { code = '' }) => `ran ${code.length} characters`,
  })

/** An exec tool that writes each file of its contract. The content of each file is the program. */
export const fileWritingTool = (): Tool =>
  defineTool({
    id: 'sample.press',
    description: 'Runs a program that leaves files.',
    params: z.object({
      contract: z.array(z.object({ filename: z.string(), description: z.string(), visibility: z.enum(['external', 'internal']) })),
      prog_name: z.string().default('program'),
    }),
    exec: true,
    async run({ contract, prog_name }, { code = '', workspace }) {
      const { files } = await workspace()
      for (const { filename } of contract) await files.write(filename, Buffer.from(code))
      const made = contract.map(({ filename, ...about }) => ({ physical_path: filename, ...about }))
      return { ran: prog_name, artifact_type: 'files', files: made }
    },
  })

/** Tools that fail in different ways: they throw, return an error, take too long, or reject their parameters. */
export const failingTools = (): readonly Tool[] => [
  defineTool({
    id: 'faulty.throws',
    description: 'Throws.',
    params: z.object({}),
    run: () => {
      throw new TypeError('there was no door')
    },
  }),
  defineTool({
    id: 'faulty.refuses',
    description: 'Says that it could not.',
    params: z.object({}),
    run: () => ({ ok: false, error: { code: 'closed', message: 'The shop is closed.', where: 'door', managed: true }, ret: { opens: 9 } }),
  }),
  defineTool({
    id: 'faulty.dawdles',
    description: 'Takes too long.',
    params: z.object({}),
    timeoutMs: 5,
    run: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
  }),
  defineTool({
    id: 'faulty.checks',
    description: 'Is particular.',
    params: z.object({ amount: z.number().positive() }),
    run: ({ amount }) => amount,
  }),
]

/** A search that programs may also call. It finds two pages for every query and cites them in its output. */
export const codeSearch = (): Tool =>
  defineTool({
    id: 'web_tools.web_search',
    description: 'Searches the web.',
    params: z.object({ query: z.string().describe('what to look for') }),
    strategy: 'exploration',
    callableFromCode: true,
    run: ({ query }) =>
      succeeded({
        output: { query, best: '[[S:1]]' },
        sources: [1, 2, 3].map((sid) => ({
          sid,
          source_type: 'web' as const,
          title: `${query} ${sid}`,
          url: `https://${query}.example/${sid}`,
          content: `All about ${query}, page ${sid}.`,
        })),
      }),
  })

/** A web search that returns the same three pages for every query. */
export const search = (): Tool =>
  defineTool({
    id: 'web_tools.web_search',
    description: 'Searches the web.',
    params: z.object({ query: z.string().describe('what to look for') }),
    strategy: 'exploration',
    run: ({ query }) =>
      succeeded({
        output: `3 results for ${query}`,
        sources: ['a', 'b', 'c'].map((name) => ({
          source_type: 'web' as const,
          title: name.toUpperCase(),
          url: `https://${name}.example/`,
        })),
      }),
  })

/** An answer that is sent in small pieces. It pauses in the middle until `resume` is called. */
export function pausedAnswer(text: string): { readonly reply: Reply; readonly halfway: Promise<void>; resume(): void } {
  const halfway = Promise.withResolvers<void>()
  const rest = Promise.withResolvers<void>()
  const whole = reply.answer(text)
  const onChunk = async (index: number) => {
    if (index !== Math.floor(whole.length / 4) - 6) return
    halfway.resolve()
    await rest.promise
  }
  return { reply: { text: whole, chunks: 4, onChunk }, halfway: halfway.promise, resume: rest.resolve }
}

/** A tool that writes files to `files/` of the turn and does not record them in the journal, as programs do. */
export const leavingTool = (): Tool =>
  defineTool({
    id: 'sample.leave',
    description: 'Leaves files.',
    params: z.object({ files: z.record(z.string(), z.string()).describe('contents by path') }),
    async run({ files }, { workspace, origin }) {
      const opened = await workspace()
      for (const [rel, content] of Object.entries(files)) await opened.files.write(`${origin.turnId}/files/${rel}`, Buffer.from(content))
      return { left: Object.keys(files).length }
    },
  })
