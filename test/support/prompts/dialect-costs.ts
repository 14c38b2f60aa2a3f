import { z } from 'zod'
import type { Dialect } from '../../../src/core/model-event.ts'
import type { Part } from '../../../src/core/render/types.ts'
import type { ModelRequest } from '../../../src/ports/model.ts'
import { createFixedClock } from '../../../src/testing/fixed-clock.ts'
import { createHarness } from '../../../src/testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import type { ScriptedCall } from './cost-script.ts'

const page = defineTool({
  id: 'library.page',
  description: 'Reads a page.',
  params: z.object({ number: z.number() }),
  run: ({ number }) => Array.from({ length: 60 }, (_, line) => `page ${number}, line ${line}, and what it says`).join('\n'),
})

/** Every prompt of a conversation of a real agent whose model speaks a dialect: `turns` turns with `rounds` tool calls each. */
export async function dialectCalls(dialect: Dialect, { turns, rounds }: { readonly turns: number; readonly rounds: number }) {
  const replies = Array.from({ length: turns }, (_, turn): readonly Reply[] => [
    ...Array.from({ length: rounds }, (_, round): Reply => {
      const params = { number: turn * rounds + round }
      return dialect === 'native' ? reply.native.call(page.id, params) : reply.call(page.id, params)
    }),
    dialect === 'native' ? reply.native.answer(`Answer ${turn}.`) : reply.answer(`Answer ${turn}.`),
  ])
  const clock = createFixedClock()
  const scripted = scriptedModel(replies.flat(), { dialect, window: 1_000_000 })
  const calls: ModelCallParts[] = []
  const model = {
    ...scripted,
    get left() {
      return scripted.left
    },
    stream(request: ModelRequest, signal: AbortSignal) {
      const { system, tools, parts } = request
      const at = Date.parse(clock.now()) / 1_000
      if (request.role === 'decision') calls.push({ system: `${tools ? JSON.stringify(tools) : ''}${system}`, parts, at })
      clock.advance(20_000)
      return scripted.stream(request, signal)
    },
  }
  const harness = createHarness({ replies: [], model, clock, tools: [page], settings: { dialect, contextTokens: 1_000_000 } })
  for (let turn = 0; turn < turns; turn++) await harness.say(`Request ${turn}. ${'More words. '.repeat(20)}`)
  return calls.map((call, index): ScriptedCall => ({ ...call, stableParts: repeatedParts(call, calls[index + 1]), apart: call.parts }))
}

type ModelCallParts = Pick<ScriptedCall, 'system' | 'parts' | 'at'>

/** How many parts at the beginning of a prompt the next prompt repeats. */
function repeatedParts({ parts }: ModelCallParts, next: ModelCallParts | undefined): number {
  if (!next) return parts.findLastIndex((part) => part.cache === true) + 1 // the rest is the tail, which is new in every prompt
  const text = (part: Part | undefined) => (part?.type === 'text' ? part.text : JSON.stringify(part))
  const at = parts.findIndex((part, index) => text(part) !== text(next.parts[index]))
  return at < 0 ? parts.length : at
}
