import { describe, expect, it } from 'vitest'
import { decisionChannels } from '../../core/decision/decision.ts'
import type { LaneEvent } from '../../core/event.ts'
import type { ModelEvent } from '../../core/model-event.ts'
import { withoutRewriting } from '../../core/stream/lane.ts'
import { createLanes } from '../../core/stream/lanes.ts'
import { reply } from '../../testing/scripted-model.ts'
import { openActivity } from '../conversation/inbox.ts'
import type { ReadOptions } from './model-response.ts'
import { readResponse } from './read-response.ts'

async function* inPieces(text: string): AsyncGenerator<ModelEvent> {
  for (let at = 0; at < text.length; at += 7) yield { type: 'text.delta', text: text.slice(at, at + 7) }
  const usage = { uncached: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 }
  yield { type: 'finish', finishReason: 'stop', modelName: 'm', usage }
}

const options = (emit: (delta: LaneEvent['delta']) => void): Omit<ReadOptions, 'live'> => ({
  modelName: 'test',
  graceMs: 1_000,
  channels: decisionChannels,
  dialect: 'channels',
  createNativeLanes: () => {
    throw new Error('The response is not native.')
  },
  createLanes: () => createLanes({ iteration: 0, executionId: 'x', replacer: withoutRewriting, mimeOf: () => 'text/plain' }),
  acceptsPlainText: false,
  emit,
})

/** Reads a response, and returns it with its live output. A watcher is present from the start, joins after the end, or is absent. */
async function readWith(watcher: 'present' | 'late' | 'absent', text: string) {
  const deltas: LaneEvent['delta'][] = []
  let join = () => {}
  const live = {
    hasWatchers: () => watcher === 'present',
    onJoin: (catchUp: () => void) => {
      join = catchUp
    },
  }
  const response = await readResponse(() => inPieces(text), openActivity(), { ...options((delta) => deltas.push(delta)), live })
  if (watcher === 'absent') expect(deltas).toEqual([])
  if (watcher === 'late') for (let time = 0; time < 2; time++) join()
  const { raw, channels, preamble, finish, violation } = response
  const shownOutput = response.liveOutput()
  const output = [shownOutput.showedAnything(), shownOutput.showedContent(), shownOutput.answer()]
  const lanes = Object.groupBy(deltas, ({ artifact_name, marker }) => artifact_name ?? marker)
  const shown = Object.entries(lanes).map(([name, lane = []]) => [name, lane.map(({ text }) => text).join(''), lane.at(-1)?.completed])
  return { raw, channels, preamble, finish, violation, output, shown }
}

describe('reading a response', () => {
  it.each([
    reply.call('sum.add', { a: 1, b: 2 }, { notes: 'I add.' }),
    reply.call('sum.add', { text: '`<b>`' }),
    reply.answer('Rome was founded by two brothers.', { followups: ['By whom?'] }),
    reply.answer('Use `</channel:answer>`.'),
    '<channel:thinking>I only think',
    '<channel:thin',
    'No channel at all.',
    `${' '.repeat(20)}${reply.answer('After blanks.')}`,
    '',
  ])('gives the same result and output with a watcher, with a late one and without: %s', async (response) => {
    const watched = await readWith('present', response)
    expect(await readWith('late', response)).toEqual(watched)
    expect(await readWith('absent', response)).toEqual(watched)
  })

  it('reads a response that starts with many blanks', async () => {
    const { channels } = await readWith('absent', `${' '.repeat(7_000)}${reply.answer('At last.')}`)
    expect(channels.map(({ name }) => name)).toEqual(['thinking', 'action', 'answer'])
  })

  it('ends a response that breaks a rule at the same piece, even if a watcher has left before its first tag was known', async () => {
    const text = `<channel:answer>${'x'.repeat(70)}`
    const ends = [[], [1], [1, 2], [1, 2, 3]].map(async (watchedPieces) => {
      let pieces = 0
      async function* counted() {
        for await (const event of inPieces(text)) {
          pieces++
          yield event
        }
      }
      const live = { hasWatchers: () => watchedPieces.includes(pieces), onJoin: () => {} }
      const { violation, raw } = await readResponse(counted, openActivity(), { ...options(() => {}), live })
      return { code: violation?.code, raw }
    })
    const code = 'protocol_violation.decision_first_channel_not_thinking'
    expect(await Promise.all(ends)).toEqual(Array(4).fill({ code, raw: text.slice(0, 21) }))
  })
})
