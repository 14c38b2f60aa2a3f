// Measures an answer of 1 MB in chunks of 20 characters. `node streaming.ts '{"of":"daybook","cited":false}'`
import { createAgent, defineTool, succeeded } from 'daybook'
import { z } from 'zod'
import { argumentsOf, bestTime, give, namedTimes, readAll, timed } from './measured.ts'
import { answerOf, CHUNK_LENGTH, handWritten, settings, steadyModel } from './steady-model.ts'

const LENGTH = 1_000_000
const TURNS = 5
const { of, cited } = argumentsOf<{ of: 'daybook' | 'floor'; cited: boolean }>()

const sentence = `The tower stands in the old town and is higher than all other buildings${cited ? ' [[S:1]]' : ' there.'}. `
const text = sentence.repeat(Math.ceil(LENGTH / sentence.length))
/** The tool that the model calls. Its result has a source, so that citations of this source are replaced by links. */
const sourceTool = defineTool({
  id: 'sum.add',
  description: 'Finds a source.',
  params: z.object({ a: z.number(), b: z.number() }),
  run: () => succeeded({ output: 'Found.', sources: [{ title: 'Tower', url: 'https://tower.example/', text: 'The tower.' }] }),
})
const model = steadyModel({ rounds: 2, answer: answerOf(text) })
const agent = createAgent({ model, tools: [sourceTool], settings })
const turnOf = {
  daybook: (id: string) => readAll(agent.run(id, 'How high is the tower?')),
  floor: (id: string) => readAll(handWritten(model, id, [{ role: 'user', text: 'How high is the tower?' }])),
}[of]

const turns = []
for (let turn = 0; turn < TURNS; turn++) turns.push(await timed(() => turnOf(`c${turn}`)))
give(namedTimes({ perChunk: bestTime(turns) }, 1_000 / (text.length / CHUNK_LENGTH)))
