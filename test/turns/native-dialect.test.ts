import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { styleFor } from '../../src/cli/terminal.ts'
import { createTurnPrinter } from '../../src/cli/turn-printer.ts'
import { emptyView } from '../../src/client/view/conversation-view.ts'
import { foldEvent } from '../../src/client/view/fold-event.ts'
import type { Block } from '../../src/core/block/index.ts'
import { cacheReport } from '../../src/core/cache/cache-report.ts'
import { roughTokens } from '../../src/core/estimate/tokens.ts'
import type { LaneEvent } from '../../src/core/event.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness, type HarnessOptions } from '../../src/testing/harness.ts'
import { reply, type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { cacheOf, withCache } from '../support/models/model-with-cache.ts'
import { weather } from '../support/scenario-tools.ts'

const { call, answer } = reply.native

const exec = defineTool({
  id: 'sample.exec',
  description: 'Runs code.',
  params: z.object({ contract: z.array(z.object({ filename: z.string(), description: z.string() })) }),
  exec: true,
  run: (_, { code = '' }) => ({ length: code.length }),
})

const native = (replies: readonly (string | ScriptedReply)[], options: Partial<HarnessOptions> = {}) =>
  createHarness({ replies: [], model: scriptedModel(replies, { dialect: 'native' }), tools: [weather()], ...options })

const typesOf = (blocks: readonly Block[]) => blocks.map(({ type }) => type)

describe('a turn in the dialect native', () => {
  it('calls a tool and answers', async () => {
    const harness = native([
      call('weather.today', { city: 'Rome' }, { notes: 'I look.' }),
      answer('Sunny.', { followups: ['And tomorrow?'] }),
    ])
    const turn = await harness.say('How is it in Rome?')
    expect(turn).toMatchObject({ answer: 'Sunny.', exitReason: 'complete' })
    expect(typesOf(blocksOf(await harness.timeline()))).toEqual([
      'turn.header',
      'user.prompt',
      'stage.gate',
      'react.thinking',
      'react.notes',
      'react.tool.call',
      'react.tool.result',
      'react.tool.result',
      'react.thinking',
      'assistant.completion',
      'stage.suggested_followups',
    ])
  })

  it('sends the tools, and a system text without a catalogue', async () => {
    const harness = native([answer('Hi.')])
    await harness.say('Hello')
    const [request] = harness.model.requests.filter(({ role }) => role === 'decision')
    expect(request?.tools?.map(({ name }) => name)).toContain('weather__today')
    expect(request?.tools?.[0]?.name).toBe('react__read')
    expect(request?.system).not.toContain('AVAILABLE REACT TOOLS')
    expect(request?.system).not.toContain('<channel:action>')
  })

  it('journals the parts of the response as they were received', async () => {
    const harness = native([call('weather.today', { city: 'Rome' }, { notes: 'I look.' }), answer('Sunny.')])
    await harness.say('How is it?')
    const responses = (await harness.journal()).filter((change) => change.type === 'response.received' && change.role === undefined)
    expect(responses.map((change) => (change.type === 'response.received' ? [change.dialect, JSON.parse(change.raw)] : []))).toEqual([
      [
        'native',
        [
          { type: 'reasoning', text: 'Next step.' },
          { type: 'text', text: 'I look.' },
          { type: 'call', name: 'weather__today', input: '{"city":"Rome"}' },
        ],
      ],
      [
        'native',
        [
          { type: 'reasoning', text: 'Done.' },
          { type: 'text', text: 'Sunny.' },
        ],
      ],
    ])
  })

  it('a broken call is refused with a notice, and the model can try again', async () => {
    const harness = native([{ calls: [{ name: 'weather__today', input: '{"city": ' }] }, answer('Sorry.')])
    const turn = await harness.say('How is it?')
    expect(turn).toMatchObject({ answer: 'Sorry.', exitReason: 'complete' })
    const notices = (await harness.journal()).flatMap((change) => (change.type === 'blocks.appended' ? change.blocks : []))
    expect(notices.find(({ type }) => type === 'react.notice')?.text).toContain('The arguments of \\"weather.today\\" could not be read')
  })
})

describe('the lanes of a native response', () => {
  const lanesOf = (events: readonly { readonly type: string }[]) =>
    events.filter((event): event is LaneEvent => event.type === 'lane.delta').map(({ delta }) => delta)

  it('text is shown while it arrives, and the end of its lane says what it was', async () => {
    const harness = native([
      { ...call('weather.today', { city: 'Rome' }, { notes: 'I look.' }), chunks: 3 },
      { ...answer('Sunny.'), chunks: 2 },
    ])
    const { events } = await harness.say('How is it?')
    const texts = lanesOf(events).filter(({ marker }) => marker === 'answer')
    expect(texts.filter(({ artifact_name }) => artifact_name === 'react.final_answer.0').map(({ text, as }) => as ?? text)).toEqual([
      'I l',
      'ook',
      '.',
      'notes',
    ])
    expect(texts.filter(({ artifact_name }) => artifact_name === 'react.final_answer.1').map(({ text, as }) => as ?? text)).toEqual([
      'Su',
      'nn',
      'y.',
      'answer',
    ])
  })

  it('the content of a file is shown while it arrives, even when path and channel come last', async () => {
    const input = '{"content":"# Report","kind":"file","channel":"canvas","path":"files/report.md"}'
    const harness = native([{ calls: [{ name: 'react__write', input }], chunks: 5 }, answer('Written.')])
    const { events } = await harness.say('Write it.')
    const canvas = lanesOf(events).filter(({ marker }) => marker === 'canvas')
    expect(canvas.map(({ text }) => text).join('')).toBe('# Report')
    expect(canvas.at(-1)).toMatchObject({ completed: true, artifact_name: 'files/report.md' })
    expect(canvas.at(-1)?.aborted).toBeUndefined()
  })
})

describe('several calls in one native response', () => {
  it('all run, and their results are in the order of the calls', async () => {
    const calls = ['Rome', 'Oslo', 'Bern'].map((city) => ({ name: 'weather__today', input: { city } }))
    const harness = native([{ text: 'Three cities.', calls }, answer('Clear.')])
    await harness.say('How is it?')
    const blocks = blocksOf(await harness.timeline())
    const cities = blocks.filter(({ type }) => type === 'react.tool.call').map(({ text }) => JSON.parse(text ?? '').params.city)
    expect(cities).toEqual(['Rome', 'Oslo', 'Bern'])
    const results = blocks.filter(({ type, text }) => type === 'react.tool.result' && text?.includes('"sky"'))
    expect(results.map(({ text }) => JSON.parse(text ?? '').city)).toEqual(['Rome', 'Oslo', 'Bern'])
    expect(blocks.filter(({ type }) => type === 'react.notes')).toHaveLength(1)
  })
})

describe('a program in a native call', () => {
  const contract = [{ filename: 'files/a.txt', description: 'a' }]

  it('is shown while it arrives, and is not part of the block of the call', async () => {
    const harness = native([{ ...call('sample.exec', { contract }, { code: 'print(1)\nprint(2)' }), chunks: 6 }, answer('Done.')], {
      tools: [exec],
    })
    const { events } = await harness.say('Run it.')
    const blocks = blocksOf(await harness.timeline())
    expect(blocks.find(({ type }) => type === 'react.tool.code')?.text).toBe('print(1)\nprint(2)')
    expect(blocks.find(({ type }) => type === 'react.tool.call')?.text).not.toContain('print')
    expect(blocks.findLast(({ type }) => type === 'react.tool.result')?.text).toContain('17')
    expect(events.filter(({ type }) => type === 'lane.delta').length).toBeGreaterThan(0)
  })

  it('that is missing is asked for by the name of the parameter', async () => {
    const harness = native([call('sample.exec', { contract }), answer('Done.')], { tools: [exec] })
    await harness.say('Run it.')
    const result = blocksOf(await harness.timeline()).findLast(({ type }) => type === 'react.tool.result')
    expect(result?.text).toContain('in the parameter program')
  })
})

describe('clients of a native turn', () => {
  it('the view turns a text into notes when a call follows', async () => {
    const harness = native([{ ...call('weather.today', { city: 'Rome' }, { notes: 'I look.' }), chunks: 3 }, answer('Sunny.')])
    const { events } = await harness.say('How is it?')
    const lanes: string[][] = []
    let view = emptyView
    for (const event of events) {
      view = foldEvent(view, event)
      if (event.type === 'lane.delta') lanes.push((view.live?.lanes ?? []).map(({ marker, text }) => `${marker}: ${text}`))
    }
    expect(lanes).toContainEqual(['thinking: Next step.', 'answer: I l'])
    expect(lanes).toContainEqual(['thinking: Next step.', 'timeline_text: I look.'])
    expect(view.turns[0]?.answers.at(-1)?.text).toBe('Sunny.')
  })

  it('a command writes only the answer to its output, even when notes were streamed before a call', async () => {
    const harness = native([
      { ...call('weather.today', { city: 'Rome' }, { notes: 'I look.' }), chunks: 3 },
      { ...answer('Sunny.'), chunks: 2 },
    ])
    const { events } = await harness.say('How is it?')
    const printed = { answer: '', progress: '', screen: '' }
    const to = (output: 'answer' | 'progress' | 'screen') => (text: string) => {
      printed[output] += text
    }
    const printer = createTurnPrinter({ answer: to('answer'), progress: to('progress'), failures: () => {} }, styleFor({}, {}))
    for (const event of events) printer.print(event)
    expect(printed.answer.trim()).toBe('Sunny.')
    expect(printed.progress.match(/I look\./g)).toHaveLength(1)
    const write = to('screen')
    const onScreen = createTurnPrinter({ answer: write, progress: write, failures: write }, styleFor({}, {}))
    for (const event of events) onScreen.print(event)
    expect(printed.screen.match(/I look\./g)).toHaveLength(1)
    expect(printed.screen.match(/Sunny\./g)).toHaveLength(1)
  })
})

describe('a change of the dialect', () => {
  it('is a cause of a cache miss of its own', async () => {
    const clock = createFixedClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const cache = cacheOf()
    const rules = { kind: 'marks', minimumTokens: 1_024, lookBackParts: 20, ttlSeconds: 300, maxMarks: 4 } as const
    const speak = async (dialect: 'channels' | 'native', text: string) => {
      const spoken = dialect === 'native' ? answer(text) : reply.answer(text)
      const scripted = withCache(scriptedModel([spoken], { dialect }), { cache, clock, transformRequest: withTools })
      const harness = createHarness({ replies: [], model: { ...scripted, dialect }, store, clock, settings: { dialect } })
      await harness.say('Hello')
      await harness.agent.close()
      return harness
    }
    await speak('channels', 'One.')
    await speak('channels', 'Two.')
    const harness = await speak('native', 'Three.')
    const journal = (await harness.journal()).map((change, index) => ({ seq: index + 1, change }))
    const { misses } = cacheReport(journal, { rulesOf: () => rules, count: roughTokens })
    expect(misses.map(({ miss }) => miss?.cause)).toEqual(['dialect switch'])
  })
})

describe('a crash after a native response was stored', () => {
  it('the next process acts on it without asking the model again', async () => {
    const clock = createFixedClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const first = native([answer('Sunny.')], { store, clock, hooks: [{ onBeforeCompletion: () => first.agent.close().then(() => []) }] })
    await first.agent.run('c1', 'How is it?').result.catch(() => {})
    const second = native([answer('Another answer.')], { store, clock })
    await second.agent.recover()
    expect(blocksOf(await second.timeline()).findLast(({ type }) => type === 'assistant.completion')?.text).toBe('Sunny.')
    expect(second.model.left).toBe(1)
  })
})

const withTools = (request: ModelRequest): ModelRequest => ({ ...request, system: JSON.stringify(request.tools ?? []) + request.system })
