import { afterEach, expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { type ConversationView, emptyView } from '../../src/client/view/conversation-view.ts'
import { foldEvent } from '../../src/client/view/fold-event.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { createHistory } from '../../ui/src/model/inspect/time-travel.ts'
import { weather } from '../support/scenario-tools.ts'
import { answered, closeServers, openServer } from '../support/server-fixture.ts'

afterEach(closeServers)

/** Follows a conversation, and keeps the view that a person had after each entry. */
function watch(client: Client, id: string) {
  const views = new Map<number, ConversationView>()
  const leave = new AbortController()
  let view = emptyView
  const done = (async () => {
    for await (const event of client.follow(id, { signal: leave.signal })) {
      view = foldEvent(view, event)
      if (event.type === 'entry') views.set(event.seq, view)
    }
  })()
  return {
    views,
    until: (isReached: (view: ConversationView) => boolean) => expect.poll(() => isReached(view)).toBe(true),
    async stop() {
      leave.abort()
      await done.catch(() => {})
    },
  }
}

it('at every entry, the conversation of that time is what a client showed at that moment', async () => {
  const call = reply.call('weather.today', { city: 'Rome' }, { thinking: 'Hm.', notes: 'I look.' })
  const replies = [
    reply.call('react.plan', { mode: 'new', steps: ['Look', 'Answer'] }),
    call,
    reply.answer('Clear.', { followups: ['And tomorrow?'] }),
    call,
    call,
    reply.answer('Rain.'),
    reply.answer('Done.'),
  ]
  const { client } = await openServer({ replies, tools: [weather()] })
  const { id } = await client.conversations.create({ title: 'Weather' })
  const watched = watch(client, id)
  await client.send(id, 'Rome?')
  await watched.until(answered)
  await client.send(id, 'And Oslo?', { files: [{ name: 'a.csv', content: new Blob(['a,b']) }] })
  await watched.until((view) => view.turns.length === 2 && answered(view))
  await client.send(id, 'Thanks')
  await watched.until((view) => view.turns.length === 3 && answered(view))
  const { entries } = await client.entries(id)
  await expect.poll(() => watched.views.size).toBe(entries.length)
  await watched.stop()
  const history = createHistory()
  // from the end, because a person may go anywhere first
  for (const { seq } of entries.toReversed()) {
    const { live: _live, ...then } = watched.views.get(seq) ?? emptyView
    const { live: _none, ...now } = history.at(entries, seq).view
    expect(now).toEqual(then)
  }
  expect(entries.length).toBeGreaterThan(30)
})
