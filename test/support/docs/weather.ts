import { defineTool } from 'daybook'
import { z } from 'zod'

/** The tool of the page about testing. */
export const weather = defineTool({
  id: 'weather.today',
  description: 'The weather in a city.',
  params: z.object({ city: z.string() }),
  repeatable: true,
  run: ({ city }) => ({ ok: true, ret: { city, sky: 'clear', degrees: 21 } }),
})
