import { expect, it } from 'vitest'
import { weather } from '../../../test/support/scenario-tools.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { createAgUiFormat } from './ag-ui.ts'
import { type Frame, frameText, parseCursor, resumedFormat } from './format.ts'

const format = () => createAgUiFormat({ conversationId: 'c1', sources: [], resourceUrl: (rn) => rn })
const typeOf = ({ data }: Frame) => (data as { readonly type: string }).type

it('a client that is cut in an entry, after text that it got live, goes on with the next frame of the entry', async () => {
  const replies = [reply.call('weather.today', { city: 'Rome' }, { thinking: 'Let me look.', notes: 'Looking.' }), reply.answer('Clear.')]
  const { events } = await createHarness({ replies, tools: [weather()] }).say('Rome?')
  const live = format()
  const sent = events.flatMap((event) => live.framesOf(event).map((frame) => ({ event, frame })))
  let cuts = 0
  for (const [index, { event, frame }] of sent.entries()) {
    if (event.type !== 'entry' || frame.part === undefined) continue
    const id = /^id: (.*)$/m.exec(frameText(frame))?.[1]
    const again = resumedFormat(format(), parseCursor(id ?? '') ?? { seq: 0 })
    const rest = again.framesOf(event).filter((each) => typeOf(each) !== 'RUN_STARTED')
    const missed = sent.slice(index + 1).filter((each) => each.event === event)
    expect(rest).toEqual(missed.map((each) => each.frame))
    cuts++
  }
  expect(cuts).toBeGreaterThan(1)
})
