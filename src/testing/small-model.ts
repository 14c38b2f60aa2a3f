import type { Dialect, ModelEvent } from '../core/model-event.ts'
import type { Model, ModelRequest } from '../ports/model.ts'
import { createGenerator } from './random.ts'
import { reply } from './scripted-model.ts'

/** What a small model wants to do: call tools one after the other, and then answer. */
export interface SmallModelPlan {
  readonly calls: readonly { readonly toolId: string; readonly params: object }[]
  readonly answer: string
}

/** Options of `createSmallModel`. */
export interface SmallModelOptions {
  /** Decides which mistakes the model makes. The same number always leads to the same mistakes. */
  readonly seed: number
  readonly dialect?: Dialect
  /** How likely a mistake is, from 0 to 1. After a notice about a mistake, the next mistake is half as likely. Default: 0.6. */
  readonly clumsiness?: number
}

/** A fake of a small local model, with the mistakes that such models make. */
export interface SmallModel extends Model {
  /** The mistakes that it has made so far. */
  readonly mistakes: readonly string[]
}

/**
 * Creates a fake of a small local model. It follows its plan, but often makes mistakes: it forgets tags, wraps JSON in prose, writes calls
 * as text, invents tools, forgets parameters, breaks JSON, thinks in its text and stops in the middle. So a test can show that turns still
 * end well with such a model:
 *
 *   const model = createSmallModel({ calls: [{ toolId: 'weather.today', params: { city: 'Rome' } }], answer: 'Sunny.' }, { seed: 1 })
 */
export function createSmallModel(plan: SmallModelPlan, { seed, dialect = 'native', clumsiness = 0.6 }: SmallModelOptions): SmallModel {
  const random = createGenerator(seed)
  const made: string[] = []

  function speak(request: ModelRequest): SmallReply {
    const prompt = request.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
    // The model finds its next step by counting the results that it can see after the latest message.
    const seen = prompt.slice(prompt.lastIndexOf('[USER MESSAGE]'))
    const done = plan.calls.filter(({ toolId }) => seen.includes(`.result ${toolId}`)).length
    const corrected = seen.includes('protocol_violation')
    const wanted = plan.calls[done]
    const right = wanted ? callReply(wanted, request.tools !== undefined) : answerReply(plan.answer, request.tools !== undefined)
    if (random() >= clumsiness / (corrected ? 2 : 1)) return right
    const mistakes = wanted ? callMistakes : answerMistakes
    const [name, spoil] = mistakes[Math.floor(random() * mistakes.length)] as (typeof mistakes)[number]
    made.push(name)
    return spoil(right, wanted ?? { toolId: 'x.y', params: {} }, plan.answer)
  }

  return {
    name: 'small',
    window: 16_384,
    dialect,
    mistakes: made,
    async *stream(request): AsyncGenerator<ModelEvent> {
      const usage = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 }
      const { text = '', calls = [], finish = 'stop' } = request.role === 'gate' ? { text: 'A title' } : speak(request)
      if (text !== '') yield { type: 'text.delta', text }
      for (const [index, { name, input }] of calls.entries()) {
        yield { type: 'call.start', index, name }
        yield { type: 'call.delta', index, text: input }
        if (finish === 'stop') yield { type: 'call.end', index }
      }
      yield { type: 'finish', finishReason: finish, modelName: 'small', usage }
    },
  }
}

interface SmallReply {
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly input: string }[]
  readonly finish?: 'stop' | 'length'
}

type Wanted = SmallModelPlan['calls'][number]
type Spoil = (right: SmallReply, wanted: Wanted, answer: string) => SmallReply

const callReply = ({ toolId, params }: Wanted, native: boolean): SmallReply =>
  native
    ? { calls: [{ name: toolId.replace('.', '__'), input: JSON.stringify(params) }] }
    : { text: reply.call(toolId, params, { notes: 'I look.' }) }

const answerReply = (answer: string, native: boolean): SmallReply => ({ text: native ? answer : reply.answer(answer) })

const asJson = ({ toolId, params }: Wanted) => JSON.stringify({ name: toolId.replace('.', '__'), arguments: params })

const callMistakes: readonly (readonly [string, Spoil])[] = [
  ['forgets the tags', (_, wanted) => ({ text: `I will call ${wanted.toolId} now.\n${asJson(wanted)}` })],
  ['wraps JSON in prose', (_, wanted) => ({ text: `Sure! Here is the call:\n\`\`\`json\n${asJson(wanted)}\n\`\`\`` })],
  ['writes the call in tags of its own', (_, wanted) => ({ text: `<tool_call>\n${asJson(wanted)}\n</tool_call>` })],
  ['does not close its own tags', (_, wanted) => ({ text: `<tool_call>\n${asJson(wanted).slice(0, -9)}` })],
  [
    'invents a tool',
    (right) => (right.calls ? { calls: [{ name: 'search_web', input: '{"q":"x"}' }] } : { text: reply.call('web.search', { q: 'x' }) }),
  ],
  [
    'forgets the parameters',
    (right, { toolId }) =>
      right.calls ? { calls: right.calls.map(({ name }) => ({ name, input: '{}' })) } : { text: reply.call(toolId, {}) },
  ],
  [
    'invents parameters',
    (right, { toolId, params }) =>
      right.calls
        ? { calls: right.calls.map(({ name }) => ({ name, input: JSON.stringify({ ...params, mood: 'good' }) })) }
        : { text: reply.call(toolId, { ...params, mood: 'good' }) },
  ],
  [
    'breaks JSON',
    (right) =>
      right.calls
        ? { calls: right.calls.map(({ name, input }) => ({ name, input: input.slice(0, -2) })) }
        : { text: right.text?.replace('}}', '') ?? '' },
  ],
  ['stops in the middle', (right) => ({ ...right, text: right.text?.slice(0, -30) ?? '', finish: 'length' })],
  ['thinks in its text', (right) => ({ ...right, text: `<think>I should look.</think>${right.text ?? ''}` })],
  ['says nothing', () => ({})],
]

const answerMistakes: readonly (readonly [string, Spoil])[] = [
  ['forgets the tags', (_, __, answer) => ({ text: answer })],
  ['thinks in its text', (_, __, answer) => ({ text: `<think>That is all.</think>\n${answer}` })],
  ['adds tags of its own', (_, __, answer) => ({ text: `<answer>${answer}</answer>` })],
  ['says nothing', () => ({})],
]
