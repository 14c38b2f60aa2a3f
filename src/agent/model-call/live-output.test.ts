import { describe, expect, it } from 'vitest'
import { decisionChannels } from '../../core/decision/decision.ts'
import type { LaneEvent } from '../../core/event.ts'
import { createChannelParser } from '../../core/stream/channel-parser.ts'
import { withoutRewriting } from '../../core/stream/lane.ts'
import { createLanes } from '../../core/stream/lanes.ts'
import { reply } from '../../testing/scripted-model.ts'
import { createLiveOutput } from './live-output.ts'

/**
 * The output of a response in each lane. The response arrives in pieces of seven characters. After the pieces that `reads` selects, the
 * output is caught up.
 */
function outputOf(response: string, reads: (piece: number) => boolean) {
  const deltas: LaneEvent['delta'][] = []
  const settings = { iteration: 0, executionId: 'x', replacer: withoutRewriting, mimeOf: () => 'text/plain' }
  const output = createLiveOutput(
    () => createLanes(settings),
    (delta) => void deltas.push(delta),
  )
  const parser = createChannelParser(decisionChannels)
  for (let at = 0, piece = 0; at < response.length; at += 7, piece++) {
    output.add(parser.push(response.slice(at, at + 7)))
    if (reads(piece)) output.catchUp()
  }
  output.add(parser.end())
  output.end('whole')
  const [answer, showedAnything, showedContent] = [output.answer(), output.showedAnything(), output.showedContent()]
  const lanes = Object.groupBy(deltas, ({ artifact_name, marker }) => artifact_name ?? marker)
  const texts = Object.entries(lanes).map(([name, lane = []]) => [name, lane.map(({ text }) => text).join(''), lane.at(-1)?.completed])
  return { answer, showedAnything, showedContent, texts }
}

describe('live output', () => {
  const responses = [
    reply.answer('Rome was founded by two brothers.', { followups: ['By whom?'] }),
    reply.call('react.write', { path: 'a.md', channel: 'canvas', content: '# Rome', kind: 'file' }, { notes: 'I write it down.' }),
  ]

  it.each(responses)('is the same whenever it is first read: %s', (response) => {
    const immediate = outputOf(response, () => true)
    expect(immediate).toMatchObject({ showedAnything: true, showedContent: true })
    for (const from of [3, 9, 15]) expect(outputOf(response, (piece) => piece >= from)).toEqual(immediate)
    expect(outputOf(response, () => false)).toEqual(immediate)
  })

  it('is not made until it is read', () => {
    const output = createLiveOutput(
      () => {
        throw new Error('read too early')
      },
      () => {},
    )
    output.add(createChannelParser(decisionChannels).push(reply.answer('Done.')))
    output.end('whole')
    expect(() => output.answer()).toThrow('read too early')
  })
})
