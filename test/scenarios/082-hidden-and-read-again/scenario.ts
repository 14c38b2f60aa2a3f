import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const lastResult = ({ parts }: { readonly parts: unknown }) => [...JSON.stringify(parts).matchAll(/tc:turn_\w+\.\w+\.result/g)].at(-1)?.[0]

export default {
  title: 'a block hidden in the tail is one line, and reading its path shows it again at its place',
  setup: () => ({
    tools: [weather()],
    replies: [
      calls('weather.today', { city: 'Paris' }),
      calls('weather.today', { city: 'Rome' }),
      (request) => calls('react.hide', { path: lastResult(request), replacement_text: 'the weather in Rome' }),
      (request) => calls('react.read', { paths: [/react\.read\((tc:[^)]*)\)/.exec(JSON.stringify(request.parts))?.[1]] }),
      answers('It is clear.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
