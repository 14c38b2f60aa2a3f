import { z } from 'zod'
import { defineTool } from '../../src/tools/define.ts'
import type { Tool } from '../../src/tools/tool.ts'

/** Tools for a turn with options. `hang` is what `notes.hang` does. It is repeated after a crash. */
export const optionTools = (hang: () => unknown): readonly Tool[] => [
  defineTool({ id: 'notes.take', description: 'Takes a note.', params: z.object({ text: z.string() }), run: () => 'taken' }),
  defineTool({ id: 'notes.hang', description: 'Hangs.', params: z.object({}), repeatable: true, run: hang }),
  defineTool({ id: 'notes.burn', description: 'Burns all notes.', params: z.object({}), run: () => 'burnt' }),
]
