import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { type ConversationView, emptyView } from '../../src/client/view/conversation-view.ts'
import { foldEvent } from '../../src/client/view/fold-event.ts'
import { newServerFolder, startServer, stopServers } from '../support/crash/start-server.ts'
import { steps } from '../support/crash/step-model.ts'

afterEach(stopServers)

/** Follows a conversation across restarts of the server, until `leave` is called. */
function watch(url: string) {
  const leave = new AbortController()
  const connections: string[] = []
  const seqs: number[] = []
  let view = emptyView
  const waiting: { done: (view: ConversationView) => boolean; resolve: () => void }[] = []
  const ended = (async () => {
    const onConnection = (state: 'open' | 'lost') => void connections.push(state)
    for await (const event of createClient({ baseUrl: url }).follow('c1', { signal: leave.signal, onConnection })) {
      if (event.type === 'entry') seqs.push(event.seq)
      view = foldEvent(view, event)
      for (const { done, resolve } of waiting) if (done(view)) resolve()
    }
  })()
  return {
    seqs,
    connections,
    until: (done: (view: ConversationView) => boolean) =>
      new Promise<ConversationView>((resolve) => {
        if (done(view)) resolve(view)
        else waiting.push({ done, resolve: () => resolve(view) })
      }),
    async leave() {
      leave.abort()
      await ended
    },
  }
}

const midway = ({ turns }: ConversationView) => turns[0]?.steps.some((step) => step.kind === 'tool' && step.status !== 'running') === true
const answered = ({ turns }: ConversationView) => turns[0]?.endedAt !== undefined

async function ask(url: string): Promise<void> {
  const client = createClient({ baseUrl: url })
  await client.conversations.create({ id: 'c1', title: 'Work' })
  await client.send('c1', 'Do all of it.')
}

it('a follower reconnects after its server was killed, and the turn is resumed to its answer', async () => {
  const folder = newServerFolder()
  const first = await startServer(folder)
  await ask(first.url)
  const follower = watch(first.url)
  await follower.until(midway)
  first.child.kill('SIGKILL')
  await first.exited
  const before = follower.seqs.length
  await startServer(folder, { port: first.port })
  const view = await follower.until(answered)
  await follower.leave()
  expect(view.turns).toMatchObject([{ exitReason: 'complete', answers: [{ text: `All ${steps} steps are done.` }] }])
  expect(view.turns[0]?.steps.filter(({ kind }) => kind === 'tool')).toHaveLength(steps)
  expect(follower.seqs).toEqual(follower.seqs.map((_, index) => index + 1))
  expect(follower.seqs.length).toBeGreaterThan(before)
  expect(follower.connections.slice(0, 2)).toEqual(['open', 'lost'])
  const asked = readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n')
  expect(new Set(asked).size).toBe(steps + 1)
  expect(asked.length).toBeLessThanOrEqual(steps + 2) // only the model call that was running may be repeated
}, 60_000)

it('a server that gets SIGTERM lets a running turn finish', async () => {
  const folder = newServerFolder()
  const first = await startServer(folder)
  await ask(first.url)
  const follower = watch(first.url)
  await follower.until(midway)
  first.child.kill('SIGTERM')
  expect(await first.exited).toEqual([0, null])
  const asked = readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n')
  expect(asked).toHaveLength(steps + 1) // one call per step, and one for the answer
  await startServer(folder, { port: first.port })
  const view = await follower.until(answered)
  await follower.leave()
  expect(view.turns[0]?.answers.at(-1)?.text).toBe(`All ${steps} steps are done.`)
  expect(readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n')).toEqual(asked)
}, 60_000)

it('a turn that does not finish within the drain time stays open, and the next process resumes it', async () => {
  const folder = newServerFolder()
  const first = await startServer(folder, { drainMs: 20, delayMs: 40 })
  await ask(first.url)
  const follower = watch(first.url)
  await follower.until(midway)
  first.child.kill('SIGTERM')
  expect(await first.exited).toEqual([0, null])
  expect(readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n').length).toBeLessThan(steps + 1)
  await startServer(folder, { port: first.port })
  const view = await follower.until(answered)
  await follower.leave()
  expect(view.turns).toMatchObject([{ exitReason: 'complete', answers: [{ text: `All ${steps} steps are done.` }] }])
  expect(follower.seqs).toEqual(follower.seqs.map((_, index) => index + 1))
}, 60_000)
