import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const lastResult = ({ parts }: { readonly parts: unknown }) => [...JSON.stringify(parts).matchAll(/tc:turn_\w+\.\w+\.result/g)].at(-1)?.[0]

export default {
  title: 'a block hidden in the tail is one line, and reading its path shows it again at its place',
  setup: () => ({
    tools: [weather()],
    replies: [
      reply.call('weather.today', { city: 'Paris' }),
      reply.call('weather.today', { city: 'Rome' }),
      (request) => reply.call('react.hide', { path: lastResult(request), replacement_text: 'the weather in Rome' }),
      (request) => reply.call('react.read', { paths: [/react\.read\((tc:[^)]*)\)/.exec(JSON.stringify(request.parts))?.[1]] }),
      reply.answer('It is clear.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
