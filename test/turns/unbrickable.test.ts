import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Agent } from '../../src/agent/agent-interface.ts'
import { defineTool } from '../../src/tools/define.ts'
import { type SharedTurn, sharedConversation } from '../support/models/shared-conversation.ts'
import { chunk, png } from '../support/sample-files/images.ts'
import { library, weather } from '../support/scenario-tools.ts'

// Publicly reported ways to make a conversation unusable: something in its history makes the provider refuse every later request. Each test
// lets it happen, and then sends another message, often to another model. `sharedConversation` checks every request with the rules of its
// provider.

/** A tool that calls a function while it runs, for example to close the agent. */
const doing = (id: string, act: () => unknown) =>
  defineTool({ id, description: 'Does something.', params: z.object({}), run: async (_, { signal }) => act() ?? signal.aborted })

const call = (name: string, input: string | object = {}, id?: string) => ({ name, input, ...(id !== undefined && { id }) })
const rome = call('weather__today', { city: 'Rome' })
const fine: Pick<SharedTurn, 'replies'> = { replies: ['All is fine.'] }
const answered = { answer: 'All is fine.', exitReason: 'complete' }

/** The turns of one conversation, one after the other. The last must be answered. */
async function expectUsable(tools: Parameters<typeof sharedConversation>[0], ...turns: readonly SharedTurn[]): Promise<void> {
  const conversation = sharedConversation(tools)
  for (const turn of turns.slice(0, -1)) await conversation.turn(turn).catch(() => {})
  const { result } = await conversation.turn(turns.at(-1) as SharedTurn)
  expect(result).toMatchObject(answered)
}

describe('a conversation stays usable after', () => {
  it('the process died during a tool call, so that the call has no result (github.com/anthropics/claude-code/issues/1237)', async () => {
    let agent: Agent | undefined
    const keep = (made: Agent) => {
      agent = made
    }
    const tools = [doing('host.exit', () => void agent?.close())]
    const dying = { replies: [{ calls: [call('host__exit')] }], onAgent: keep }
    await expectUsable(tools, { provider: 'anthropic', ...dying }, { provider: 'anthropic', ...fine })
    await expectUsable(tools, { provider: 'openai', ...dying }, { provider: 'google', ...fine })
  })

  it('the user stopped a tool (github.com/anthropics/claude-code/issues/5705)', async () => {
    let agent: Agent | undefined
    const keep = (made: Agent) => {
      agent = made
    }
    const tools = [doing('host.stop', () => agent?.stop('c1').then(() => new Promise(() => {})))]
    const stopped = {
      replies: [{ calls: [call('host__stop')] }],
      onAgent: keep,
      settings: { stopGraceMs: 0 },
    }
    await expectUsable(tools, { provider: 'openai', ...stopped }, { provider: 'openai', ...fine })
    await expectUsable(tools, { provider: 'anthropic', ...stopped }, { provider: 'compatible', ...fine })
  })

  it('thinking with a signature, and another model (github.com/vybestack/llxprt-code/issues/2335)', async () => {
    const thought = {
      replies: [
        { reasoning: 'Hm.', text: 'I look.', calls: [rome] },
        { reasoning: 'Ah.', text: 'Clear.' },
      ],
    }
    const other = { provider: 'anthropic', model: 'anthropic/claude-opus-5-5', ...fine } as const
    await expectUsable([weather()], { provider: 'anthropic', ...thought }, other)
  })

  it('encrypted reasoning of another provider (github.com/router-for-me/CLIProxyAPI/issues/81)', async () => {
    const thought = { replies: [{ reasoning: 'Hm.', calls: [rome] }, 'Clear.'] }
    await expectUsable([weather()], { provider: 'openai', ...thought }, { provider: 'compatible', ...fine })
    await expectUsable([weather()], { provider: 'compatible', ...thought }, { provider: 'openai', ...fine })
  })

  it('reasoning without the item that must follow it (github.com/openai/openai-agents-js/issues/929)', async () => {
    await expectUsable([], { provider: 'openai', replies: [{ reasoning: 'Hm.', text: '' }, 'Yes.'] }, { provider: 'openai', ...fine })
  })

  it('an image of more than 5 MB (github.com/anthropics/claude-code/issues/10183)', async () => {
    const content = png({ extra: [chunk('teXt', Buffer.alloc(4_500_000, 65))] })
    const seen = { provider: 'anthropic', replies: ['A picture.'], attachments: [{ name: 'photo.png', content }] } as const
    await expectUsable([], seen, { provider: 'anthropic', ...fine })
  })

  it('an image of too many pixels among many images (github.com/anthropics/claude-code/issues/34120)', async () => {
    const images = (from: number, count: number, width: number) =>
      Array.from({ length: count }, (_, n) => ({ name: `p${from + n}.png`, content: png({ width: width + from + n, height: 3 }) }))
    const seen = (from: number, count: number, width: number): SharedTurn => ({
      provider: 'anthropic',
      replies: ['Pictures.'],
      attachments: images(from, count, width),
    })
    await expectUsable([], seen(0, 8, 10), seen(8, 8, 10), seen(16, 5, 2_100), { provider: 'anthropic', ...fine })
  })

  it('empty texts: of a tool, of the model and of the user (github.com/anthropics/claude-code/issues/24662)', async () => {
    const silent = defineTool({ id: 'host.silent', description: 'Says nothing.', params: z.object({}), run: () => '' })
    const replies = [{ text: '', calls: [call('host__silent')] }, { text: ' \n' }, 'Nothing.']
    for (const provider of ['anthropic', 'openai', 'google', 'compatible'] as const)
      await expectUsable([silent], { provider, replies }, { provider, ...fine })
  })

  it('calls with the same id, and with an empty one (github.com/ducks/claux/issues/40)', async () => {
    const twice = {
      calls: [
        { ...rome, id: 'same' },
        { ...rome, id: 'same' },
      ],
    }
    const replies = [twice, twice, { calls: [{ ...rome, id: '' }] }, 'Clear.']
    for (const provider of ['anthropic', 'openai', 'google', 'compatible'] as const)
      await expectUsable([weather()], { provider, replies }, { provider: 'anthropic', ...fine })
  })

  it('arguments that were cut off in the middle (github.com/windmill-labs/windmill/pull/9902)', async () => {
    const cut = { calls: [call('react__write', '{"path": "files/a.md", "content": "half')], finish: 'length' as const }
    await expectUsable([], { provider: 'anthropic', replies: [cut, 'Later.'] }, { provider: 'openai', ...fine })
    await expectUsable([], { provider: 'compatible', replies: [cut, cut, cut] }, { provider: 'anthropic', ...fine })
  })

  it('a compaction between a call and its result (github.com/earendil-works/pi/issues/8667)', async () => {
    const pages = Array.from({ length: 8 }, (_, page) => ({ calls: [call('library__fetch', { page })] }))
    const settings = { contextTokens: 9_000 }
    const long = { replies: [...pages, 'Read.'], settings }
    await expectUsable([library()], { provider: 'anthropic', ...long }, { provider: 'anthropic', ...fine, settings })
    await expectUsable([library()], { provider: 'openai', ...long }, { provider: 'google', ...fine, settings })
    const { turn, store } = sharedConversation([library()])
    await turn({ provider: 'anthropic', ...long })
    const reasons: string[] = []
    for await (const { change } of store.readJournal('c1', { after: 0 })) if (change.type === 'blocks.hidden') reasons.push(change.reason)
    expect(reasons).toContain('compaction')
  })

  it('half a character in the output of a tool (github.com/anthropics/claude-code/issues/3277)', async () => {
    const broken = defineTool({ id: 'host.broken', description: 'Half a character.', params: z.object({}), run: () => `a\ud83d b\udc4d` })
    for (const provider of ['anthropic', 'openai', 'google', 'compatible'] as const)
      await expectUsable([broken], { provider, replies: [{ calls: [call('host__broken')] }, 'Odd \ud83d.'] }, { provider, ...fine })
  })

  it('calls without a thought signature, and then Gemini (github.com/langgenius/dify-official-plugins/issues/2088)', async () => {
    for (const provider of ['anthropic', 'openai', 'google', 'compatible'] as const)
      await expectUsable([weather()], { provider, replies: [{ calls: [rome] }, 'Clear.'] }, { provider: 'google', ...fine })
  })

  it('more cache marks than the provider accepts (github.com/Bike4Mind/bike4mind/issues/2127)', async () => {
    const turns = Array.from(
      { length: 6 },
      (): SharedTurn => ({ provider: 'anthropic', replies: [{ calls: [rome] }, { calls: [rome] }, 'Clear.'] }),
    )
    await expectUsable([weather()], ...turns, { provider: 'anthropic', ...fine })
  })

  it('a history that ends with the assistant (github.com/vercel/eve/issues/1839)', async () => {
    const thinking = {
      replies: [
        { reasoning: 'Hm.', text: '' },
        { reasoning: 'Hm.', text: '' },
        { reasoning: 'Hm.', text: '' },
      ],
    }
    await expectUsable([], { provider: 'anthropic', ...thinking }, { provider: 'anthropic', ...fine })
  })

  it('ids of calls that another provider does not accept (github.com/anomalyco/opencode/issues/1680)', async () => {
    const calls = [call('weather__today', { city: 'Rome' }, 'toolu_01Gho1LhNQt7FjqEiiHkrVMK')]
    await expectUsable([weather()], { provider: 'anthropic', replies: [{ calls }, 'Clear.'] }, { provider: 'compatible', ...fine })
  })

  it('a model that accepts no tools (github.com/ollama/ollama/issues/6027)', async () => {
    const inChannels =
      '<channel:thinking>x</channel:thinking><channel:action>{"action":"complete"}</channel:action><channel:answer>All is fine.</channel:answer>'
    const before = { provider: 'anthropic', replies: [{ calls: [rome] }, 'Clear.'] } as const
    const replies = [{ error: 'no_tools' as const }, inChannels]
    await expectUsable([weather()], before, { provider: 'compatible', dialect: 'auto', replies })
  })

  it('a model that accepts no images (github.com/NousResearch/hermes-agent/pull/97059)', async () => {
    const seen = { provider: 'anthropic', replies: ['A picture.'], attachments: [{ name: 'photo.png', content: png() }] } as const
    await expectUsable([], seen, { provider: 'compatible', options: { images: false }, ...fine })
    const refusing = { provider: 'openai', replies: [{ error: 'no_tools' as const }, 'All is fine.'] } as const
    await expectUsable([], seen, refusing)
  })

  it('a refused request (github.com/anthropics/claude-code/issues/60313)', async () => {
    await expectUsable([], { provider: 'anthropic', replies: [{ error: 'content_filter' }] }, { provider: 'anthropic', ...fine })
    await expectUsable([], { provider: 'google', replies: [{ finish: 'malformed_call' }, 'Yes.'] }, { provider: 'google', ...fine })
  })

  it('more bytes of images than one request may have (github.com/earendil-works/pi/issues/401)', async () => {
    const photo = (n: number) => ({
      name: `p${n}.png`,
      content: png({ width: 5 + n, extra: [chunk('teXt', Buffer.alloc(3_500_000, 65 + n))] }),
    })
    const attachments = Array.from({ length: 6 }, (_, n) => photo(n))
    await expectUsable([], { provider: 'anthropic', replies: ['Pictures.'], attachments }, { provider: 'anthropic', ...fine })
  })
})
