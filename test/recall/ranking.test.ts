import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { completion, minute, prompt } from '../../src/testing/blocks.ts'
import { appended, closed, opened, writeConversation } from '../../src/testing/conformance/store/fixture.ts'
import { inConversation, memoryOf } from '../../src/testing/conformance/store/memory.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { openTestStore, runsOf } from '../support/stores.ts'

const createStore = () => openTestStore({ clock: createFixedClock() })

const users = ['ann', 'bob', 'cleo'] as const
const scopeOf = (user: string) => ({ tenant: 'acme', project: 'web', user })
const words = fc.array(fc.constantFrom('river', 'bridge', 'Kyoto', 'parseUser', 'invoice', 'harbour'), { minLength: 1, maxLength: 6 })
const message = fc.record({ user: fc.constantFrom(...users), conversation: fc.nat(2), text: words.map((list) => list.join(' ')) })

/** Stores the messages, each as a turn. */
async function storeMessages(messages: readonly { readonly user: string; readonly conversation: number; readonly text: string }[]) {
  const store = await createStore()
  const conversations = Map.groupBy(messages, ({ user, conversation }) => `acme/web/${user}/c${conversation}`)
  for (const [id, list] of conversations)
    await writeConversation(
      store,
      id,
      ...list.map(({ text }, n) => [opened(`t${n}`, n), appended([prompt(text, `t${n}`, n)], n + 1), closed(`t${n}`, n)]),
    )
  return memoryOf(store)
}

describe('a memory search', () => {
  it('finds the same for a user, with the same scores, whatever other users have said', async () => {
    let found = 0
    await fc.assert(
      fc.asyncProperty(fc.array(message, { maxLength: 25 }), words, async (messages, question) => {
        const together = await storeMessages(messages)
        for (const user of users) {
          const alone = await storeMessages(messages.filter((each) => each.user === user))
          const filter = inConversation('', { within: { user: scopeOf(user) }, limit: 50 })
          const matches = await together.search(question.join(' '), filter)
          expect(matches).toEqual(await alone.search(question.join(' '), filter))
          expect(matches.every(({ conversationId }) => conversationId.startsWith(`acme/web/${user}/`))).toBe(true)
          found += matches.length
        }
      }),
      { numRuns: runsOf(60) },
    )
    expect(found).toBeGreaterThan(runsOf(25))
  })

  it('finds a second place that shares only a name with the first', async () => {
    const store = await createStore()
    const filler = Array.from({ length: 30 }, (_, n) => `Today I cooked soup number ${n} and watched the rain.`)
    const texts = [
      ...filler,
      'We visited the old mill of Varnstedt last summer.',
      ...filler,
      'Did you know that Varnstedt was founded by monks?',
      ...filler,
    ]
    await writeConversation(
      store,
      'c1',
      ...texts.map((text, n) => [opened(`t${n}`, n), appended([prompt(text, `t${n}`, n)], n + 1), closed(`t${n}`, n)]),
    )
    const matches = await memoryOf(store).search('Who began the town with the mill that we visited?', inConversation('c1', { limit: 5 }))
    expect(matches.map(({ turnId }) => turnId)).toEqual(expect.arrayContaining(['t30', 't61']))
  })

  it('finds an answer that has no word of the question, beside the message that has them', async () => {
    const store = await createStore()
    const turn = (n: number, asked: string, answered: string) => [
      opened(`t${n}`, n),
      appended([prompt(asked, `t${n}`, n)], 2 * n + 1),
      closed(`t${n}`, n),
      opened(`t${n}b`, n),
      appended([completion(answered, `t${n}b`, n)], 2 * n + 2),
      closed(`t${n}b`, n),
    ]
    await writeConversation(
      store,
      'c1',
      turn(0, 'hello', 'hi'),
      turn(1, 'Which colour has the new bicycle?', 'Dark green.'),
      turn(2, 'thanks', 'bye'),
    )
    const matches = await memoryOf(store).search('colour of the bicycle', inConversation('c1', { limit: 2 }))
    expect(matches.map(({ text }) => text)).toEqual(['Which colour has the new bicycle?', expect.any(String)])
    expect((await memoryOf(store).search('colour of the bicycle', inConversation('c1'))).map(({ text }) => text)).toContain('Dark green.')
  })

  it.each([
    [
      'what a named person said, and not what others said to them',
      'Which boat did Ann sell?',
      'Ann: I sold the blue boat.',
      'Bob: Ann, who sold a boat?',
    ],
    [
      'other words for the same',
      'What happened to the rubbish of the children?',
      'The kids carried the trash away.',
      'A horse ate the grass.',
    ],
    ['what people do, by the word for these people', 'What became of the gardeners and movers?', 'The moving van is full.', 'Bob: hello'],
    [
      'what was said about the subject, when advice is asked for',
      'Which concert should I see this season?',
      'Baroque orchestras on old instruments make me happy.',
      'The bakery opens at noon.',
    ],
  ])('finds %s', async (_, question, wanted, other) => {
    const store = await createStore()
    const filler = Array.from({ length: 20 }, (_unused, n) => `Bob: number ${n} of the list`)
    const texts = [wanted, ...filler, other, ...filler, 'Ann: hello']
    await writeConversation(
      store,
      'c1',
      ...texts.map((text, n) => [opened(`t${n}`, n), appended([prompt(text, `t${n}`, n)], n + 1), closed(`t${n}`, n)]),
    )
    const matches = await memoryOf(store).search(question, inConversation('c1', { limit: 5 }))
    expect(matches[0]?.text).toBe(wanted)
  })

  it('prefers what was said at the time that the question names', async () => {
    const store = await createStore()
    const days = [3, 40, 80].map((day) => day * 24 * 60)
    await writeConversation(
      store,
      'c1',
      ...days.map((day, n) => [
        opened(`t${n}`, day),
        appended([prompt('we walked to the harbour', `t${n}`, day)], n + 1),
        closed(`t${n}`, day),
      ]),
    )
    const then = new Date(Date.parse(minute(days[1] ?? 0)))
    const month = then.toLocaleString('en', { month: 'long', timeZone: 'UTC' })
    const question = `Where did we walk in ${month} ${then.getUTCFullYear()}?`
    const matches = await memoryOf(store).search(question, inConversation('c1', { now: minute(days[2] ?? 0) }))
    expect(matches[0]?.turnId).toBe('t1')
  })

  it('prefers the newer of two equal texts', async () => {
    const store = await createStore()
    const turns = [0, 1].map((n) => [opened(`t${n}`, n), appended([prompt('the harbour', `t${n}`, n * 20_000)], n + 1), closed(`t${n}`, n)])
    await writeConversation(store, 'c1', ...turns)
    const matches = await memoryOf(store).search('harbour', inConversation('c1', { now: minute(20_001) }))
    expect(matches.map(({ turnId }) => turnId)).toEqual(['t1', 't0'])
  })

  /** Stores each text as a turn of one conversation. Texts that begin with `assistant: ` are answers. */
  async function storeTexts(texts: readonly string[]) {
    const store = await createStore()
    const turns = texts.map((text, n) => {
      const [turnId, answer] = [`t${n}`, 'assistant: ']
      const block = text.startsWith(answer) ? completion(text.slice(answer.length), turnId, n) : prompt(text, turnId, n)
      return [opened(turnId, n), appended([block], n + 1), closed(turnId, n)]
    })
    await writeConversation(store, 'c1', ...turns)
    return async (question: string) => (await memoryOf(store).search(question, inConversation('c1'))).map(({ text }) => text)
  }
  const filler = Array.from({ length: 20 }, (_, n) => `We talked about item ${n} of a list.`)

  it.each([
    [
      'a name of the best match leads to other texts, but not past the words of the question',
      'tractor repair',
      [
        'The tractor repair was done by Zephyrine and Quillon.',
        'A tractor repair on a field far away needs good tools and a lot of patience.',
        'Yesterday Zephyrine and Quillon went to the tractor fair.',
      ],
    ],
    [
      'a text with two words of the question comes before one that has one word beside others with the same word',
      'harbour lantern',
      [
        'In the evening, after a long walk with friends along the windy coast, we saw that the lantern of the harbour was out.',
        'harbour',
        'harbour',
        'harbour',
        'harbour',
        'harbour',
        'harbour',
      ],
    ],
    [
      'words with which people ask count less than what they ask for',
      'Can you remind me how many times I mentioned the ferry in our previous conversation?',
      ['The ferry was late.', 'The previous conversation ended in tears.'],
    ],
  ])('%s', async (_, question, texts) => {
    const [wanted = '', ...others] = texts
    const found = await (await storeTexts([...filler, wanted, ...filler, ...others, ...filler]))(question)
    expect(found.filter((text) => !filler.includes(text)).slice(0, 2)).toEqual([wanted, others[0]])
  })

  it('prefers the words of the person who is asked about: the user, or the agent', async () => {
    const store = await createStore()
    const blocks = [prompt('the tent needs new poles', 't1', 1), completion('the tent needs new poles', 't2', 1)]
    await writeConversation(
      store,
      'c1',
      ...blocks.map((block, n) => [opened(`t${n + 1}`, 1), appended([block], n + 1), closed(`t${n + 1}`, 1)]),
    )
    const first = async (question: string) => (await memoryOf(store).search(question, inConversation('c1')))[0]?.role
    expect(await first('What did I write about the tent?')).toBe('user')
    expect(await first('What is wrong with my tent?')).toBe('user')
    expect(await first('Can you remind me what you recommended for the tent?')).toBe('assistant')
    expect(await first('Which poles did you suggest?')).toBe('assistant')
  })

  it('a question about the user prefers the conversation in which the user has the word, and not a long answer', async () => {
    const store = await createStore()
    const filler = 'Take your time and note what works. '.repeat(3)
    const conversations = {
      told: ['I own an aquarium now.', `${filler} Enjoy it.`],
      advised: ['What could I put on a shelf?', `${filler} Books, an aquarium, or a second aquarium.`],
    }
    for (const [id, [asked = '', answered = '']] of Object.entries(conversations))
      await writeConversation(store, `acme/web/ann/${id}`, [
        opened('t1', 1),
        appended([prompt(asked, 't1', 1), completion(answered, 't1', 1), completion(answered, 't1', 1)], 1),
        closed('t1', 1),
      ])
    const filter = inConversation('', { within: { user: scopeOf('ann') } })
    const first = async (question: string) => (await memoryOf(store).search(question, filter))[0]?.conversationId
    expect(await first('Do I have an aquarium?')).toBe('acme/web/ann/told')
    expect(await first('What did you say about an aquarium?')).toBe('acme/web/ann/advised')
  })
})
