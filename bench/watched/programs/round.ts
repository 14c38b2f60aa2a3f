// Measures a round in memory: in the first turn of the process, and in the best of many. `node round.ts '{"of":"daybook","watched":true}'`
import { createAgent } from 'daybook'
import { argumentsOf, bestTime, give, namedTimes, readAll, timed } from './measured.ts'
import { addTool, handWritten, settings, steadyModel } from './steady-model.ts'

const ROUNDS = 50
const TURNS = 300
const { of, watched } = argumentsOf<{ of: 'daybook' | 'floor'; watched: boolean }>()

const model = steadyModel({ rounds: ROUNDS })
const agent = createAgent({ model, tools: [addTool], settings })
const turnOf = {
  daybook: (id: string) => (watched ? readAll(agent.run(id, 'Add up.')) : agent.run(id, 'Add up.').result),
  floor: (id: string) => readAll(handWritten(model, id, [{ role: 'user', text: 'Add up.' }])),
}[of]

const cold = await timed(() => turnOf('cold'))
const turns = []
for (let turn = 0; turn < TURNS; turn++) turns.push(await timed(() => turnOf(`c${turn}`)))
give(namedTimes({ cold, hot: bestTime(turns) }, 1_000 / ROUNDS))
