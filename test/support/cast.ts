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
export const slow = (options: { readonly started?: () => void; readonly deaf?: true; readonly endsAfterMs?: number } = {}): Tool =>
  defineTool({
    id: 'slow.work',
    description: 'Takes its time.',
    params: z.object({}),
    run: (_, { signal }) =>
      new Promise((resolve, reject) => {
        options.started?.()
        if (!options.deaf) signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        else if (options.endsAfterMs !== undefined) setTimeout(() => resolve({ ok: true, ret: 'too late' }), options.endsAfterMs)
      }),
  })

/** Runs until the story lets it finish. One story at a time: each call waits for the next `finish`. */
export function paused(): { readonly tool: Tool; finish(): void } {
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
