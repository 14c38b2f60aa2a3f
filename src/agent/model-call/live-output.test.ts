import { describe, expect, it } from 'vitest'
import { decisionChannels } from '../../core/decision/response.ts'
import type { LaneEvent } from '../../core/event.ts'
import { createChannelParser } from '../../core/stream/channel-parser.ts'
import { withoutRewriting } from '../../core/stream/lane.ts'
import { createLanes } from '../../core/stream/lanes.ts'
import { answers, calls } from '../../testing/scripted-model.ts'
import { createLiveOutput } from './live-output.ts'

/** Everything shown of a response that comes in pieces of seven, by lane, when somebody looks after these pieces. */
function shownOf(response: string, looks: (piece: number) => boolean) {
  const deltas: LaneEvent['delta'][] = []
  const settings = { iteration: 0, executionId: 'x', replacer: withoutRewriting, mimeOf: () => 'text/plain' }
  const showing = createLiveOutput(
    () => createLanes(settings),
    (delta) => void deltas.push(delta),
  )
  const parser = createChannelParser(decisionChannels)
  for (let at = 0, piece = 0; at < response.length; at += 7, piece++) {
    showing.add(parser.push(response.slice(at, at + 7)))
    if (looks(piece)) showing.catchUp()
  }
  showing.add(parser.end())
  showing.end('whole')
  const [answer, shown, spoken] = [showing.answer(), showing.showedAnything(), showing.showedContent()]
  const lanes = Object.groupBy(deltas, ({ artifactName, marker }) => artifactName ?? marker)
  const texts = Object.entries(lanes).map(([name, lane = []]) => [name, lane.map(({ text }) => text).join(''), lane.at(-1)?.completed])
  return { answer, shown, spoken, texts }
}

describe('what a person may watch', () => {
  const responses = [
    answers('Rome was founded by two brothers.', { followups: ['By whom?'] }),
    calls('react.write', { path: 'a.md', channel: 'canvas', content: '# Rome', kind: 'file' }, { notes: 'I write it down.' }),
  ]

  it.each(responses)('is the same whenever somebody begins to look: %s', (response) => {
    const live = shownOf(response, () => true)
    expect(live).toMatchObject({ shown: true, spoken: true })
    for (const from of [3, 9, 15]) expect(shownOf(response, (piece) => piece >= from)).toEqual(live)
    expect(shownOf(response, () => false)).toEqual(live)
  })

  it('is not even made while nobody asks', () => {
    const showing = createLiveOutput(
      () => {
        throw new Error('nobody asked')
      },
      () => {},
    )
    showing.add(createChannelParser(decisionChannels).push(answers('Done.')))
    showing.end('whole')
    expect(() => showing.answer()).toThrow('nobody asked')
  })
})
