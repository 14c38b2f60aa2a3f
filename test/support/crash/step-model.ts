import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Model } from '../../../src/ports/model.ts'
import { reply, scriptedModel } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import type { Tool } from '../../../src/tools/tool.ts'

export const steps = 4

/** A tool that completes one step. */
export const stepTool = (): Tool =>
  defineTool({
    id: 'work.step',
    description: 'Does one step.',
    params: z.object({ step: z.number().int().describe('which') }),
    repeatable: true,
    run: ({ step }) => ({ ok: true, ret: { done: `step-${step}-is-done` } }),
  })

/** While this file is in the folder, the model does not answer. */
export const holdFile = 'hold'

/**
 * A slow model that calls one step after another and then answers. It has no state, but reads in the prompt which steps are done. It writes
 * each call to a file, so that a repeated call can be detected.
 */
export function stepModel(folder: string, delayMs: number): Model {
  const modelReply = (prompt: string) => {
    const done = new Set(prompt.match(/step-\d+-is-done/g)).size
    appendFileSync(join(folder, 'asked'), `${done}\n`)
    const text = done < steps ? reply.call('work.step', { step: done + 1 }) : reply.answer(`All ${steps} steps are done.`)
    return { text, chunks: 20, delayMs }
  }
  return {
    name: 'steps',
    window: 200_000,
    async *stream(request, signal) {
      while (existsSync(join(folder, holdFile)) && !signal.aborted) await sleep(20)
      const prompt = request.parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
      yield* scriptedModel([() => modelReply(prompt)]).stream(request, signal)
    },
  }
}
