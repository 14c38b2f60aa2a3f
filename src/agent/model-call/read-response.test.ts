import { describe, expect, it } from 'vitest'
import { createEarlyCheck, type EarlyCheck } from '../../core/decision/early-check.ts'
import { decisionChannels } from '../../core/decision/response.ts'
import type { LaneEvent } from '../../core/event.ts'
import type { ModelEvent } from '../../core/model-event.ts'
import { withoutRewriting } from '../../core/stream/lane.ts'
import { createLanes } from '../../core/stream/lanes.ts'
import { answers, calls } from '../../testing/scripted-model.ts'
import { openActivity } from '../conversation/inbox.ts'
import { readResponse } from './read-response.ts'

async function* inPieces(text: string): AsyncGenerator<ModelEvent> {
  for (let at = 0; at < text.length; at += 7) yield { type: 'text.delta', text: text.slice(at, at + 7) }
  const usage = { uncached: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 }
  yield { type: 'finish', finishReason: 'stop', modelName: 'm', usage }
}

/** What was heard and shown of a response that somebody watches from the beginning, joins when it is over, or only asks about. */
async function heardBy(who: 'watcher' | 'latecomer' | 'nobody', response: string, watch = createEarlyCheck()) {
  const deltas: LaneEvent['delta'][] = []
  let join = () => {}
  const heard = await readResponse(() => inPieces(response), openActivity(), {
    graceMs: 1_000,
    channels: decisionChannels,
    createLanes: () => createLanes({ iteration: 0, executionId: 'x', replacer: withoutRewriting, mimeOf: () => 'text/plain' }),
    earlyCheck: watch,
    watchers: {
      any: () => who === 'watcher',
      onJoin: (catchUp) => {
        join = catchUp
      },
    },
    emit: (delta) => void deltas.push(delta),
  })
  if (who === 'nobody') expect(deltas).toEqual([])
  if (who === 'latecomer') for (let time = 0; time < 2; time++) join()
  const { raw, channels, preamble, finish, violation } = heard
  const asked = [heard.showedAnything(), heard.showedContent(), heard.answer()]
  const lanes = Object.groupBy(deltas, ({ artifactName, marker }) => artifactName ?? marker)
  const shown = Object.entries(lanes).map(([name, lane = []]) => [name, lane.map(({ text }) => text).join(''), lane.at(-1)?.completed])
  return { raw, channels, preamble, finish, violation, asked, shown }
}

describe('listening', () => {
  it.each([
    calls('sum.add', { a: 1, b: 2 }, { notes: 'I add.' }),
    calls('sum.add', { text: '`<b>`' }),
    answers('Rome was founded by two brothers.', { followups: ['By whom?'] }),
    answers('Use `</channel:answer>`.'),
    '<channel:thinking>I only think',
    '<channel:thin',
    'No channel at all.',
    `${' '.repeat(20)}${answers('After blanks.')}`,
    '',
  ])('hears and shows the same whether somebody watches, joins when it is over, or only asks: %s', async (response) => {
    const watched = await heardBy('watcher', response)
    expect(await heardBy('latecomer', response)).toEqual(watched)
    expect(await heardBy('nobody', response)).toEqual(watched)
  })

  it('looks at the whole of a response at its beginning only, however long it goes on with blanks', async () => {
    const watch = createEarlyCheck()
    let looks = 0
    const counting: EarlyCheck = {
      startsValid(raw) {
        looks += 1
        return watch.startsValid(raw)
      },
      check: (...seen) => watch.check(...seen),
      get done() {
        return watch.done
      },
    }
    const { channels } = await heardBy('nobody', `${' '.repeat(7_000)}${answers('At last.')}`, counting)
    expect(channels.map(({ name }) => name)).toEqual(['thinking', 'action', 'answer'])
    expect(looks).toBe(1)
  })
})
