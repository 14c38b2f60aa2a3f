import { expect, it } from 'vitest'
import { createHarness } from '../../testing/harness.ts'
import { answers } from '../../testing/scripted-model.ts'
import { forkBundle } from './fork.ts'
import { blocksOf } from './timeline.ts'

async function twoTurns() {
  const stage = createHarness({ replies: [answers('One.'), answers('Two.'), answers('Other.')] })
  const first = await stage.say('first')
  const second = await stage.say('second')
  return { stage, first, second, bundle: await stage.store.exportBundle('c1') }
}

it('ends with the turn, remembers where it came from, and goes on by itself', async () => {
  const { stage, first, bundle } = await twoTurns()
  await stage.store.importBundle(forkBundle(bundle, first.turnId), { as: 'c2' })
  const forked = await stage.store.loadVisible('c2')
  expect(forked?.timeline).toMatchObject({ forkedFrom: { conversation_id: 'c1', turn_id: first.turnId } })
  const told = await stage.agent.run({ conversation: 'c2', input: 'second, but otherwise' }).result
  expect(told.answer).toBe('Other.')
  const prompts = async (id: string) =>
    blocksOf((await stage.store.loadVisible(id))?.timeline ?? (forked as NonNullable<typeof forked>).timeline)
      .filter(({ type }) => type === 'user.prompt')
      .map(({ text }) => text)
  expect(await prompts('c2')).toEqual(['first', 'second, but otherwise'])
  expect(await prompts('c1')).toEqual(['first', 'second'])
})

it('takes everything when no turn is named, and refuses a turn that is not there', async () => {
  const { second, bundle } = await twoTurns()
  expect(forkBundle(bundle).timeline.blocks).toEqual(bundle.timeline.blocks)
  expect(() => forkBundle(bundle, 'turn_x')).toThrow(`there is no finished turn turn_x: name one that is, the latest is ${second.turnId}`)
})
