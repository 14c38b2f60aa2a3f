import { z } from 'zod'
import { defineTool } from '../../src/tools/define.ts'
import type { Tool } from '../../src/tools/tool.ts'

/** Tools that stories need. */
export const weather = (): Tool =>
  defineTool({
    id: 'weather.today',
    description: 'The weather in a city.',
    params: z.object({ city: z.string().describe('which city'), days: z.number().int().optional().describe('how many days ahead') }),
    strategy: 'exploration',
    repeatable: true,
    run: ({ city }) => ({ ok: true, ret: { city, sky: 'clear', degrees: 21 } }),
  })

/** Runs until it is told to stop, or for ever. */
export const slow = (options: { readonly started?: () => void; readonly deaf?: true } = {}): Tool =>
  defineTool({
    id: 'slow.work',
    description: 'Takes its time.',
    params: z.object({}),
    run: (_, { signal }) =>
      new Promise((resolve, reject) => {
        options.started?.()
        if (!options.deaf) signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        else void resolve // a tool that does not listen
      }),
  })

/** As many words as are asked for, always the same: something to fill a context with. */
export const library = (): Tool =>
  defineTool({
    id: 'library.fetch',
    description: 'A page of a book.',
    params: z.object({ page: z.number().int().describe('which page') }),
    strategy: 'exploration',
    repeatable: true,
    run: ({ page }) => `Page ${page}. ${`The ${page}th house has a red door. `.repeat(180)}`,
  })
