import { z } from 'zod'
import { type ModelChoice, modelFrom } from '../adapters/model/model-from.ts'
import { createSystemPrompt, dialectOf } from '../agent/dialect.ts'
import { createToolbox } from '../agent/tools.ts'
import { parseRecordedResponse } from '../core/decision/native-response.ts'
import { readDecision } from '../core/decision/read.ts'
import { roughTokens } from '../core/estimate/tokens.ts'
import { errorMessage } from '../core/failure.ts'
import type { Dialect, FinishReason, ModelEvent } from '../core/model-event.ts'
import { createPartCollector, formatParts } from '../core/stream/native-parts.ts'
import type { Model } from '../ports/model.ts'
import { defineTool } from '../tools/define.ts'

/** Whether a model can call a tool in one dialect. */
export interface DialectTrial {
  readonly dialect: Dialect
  readonly ok: boolean
  /** What the model did. */
  readonly found: string
}

export interface ModelTrial {
  /** The dialect that the settings choose for this model. */
  readonly chosen: Dialect
  /** One trial for each dialect. For a model that can not call tools in the provider's form, only `channels` is tried. */
  readonly trials: readonly DialectTrial[]
}

interface TrialOptions {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly dialect: 'auto' | Dialect
  /** How long a call may take, in milliseconds. */
  readonly timeoutMs?: number
}

/** Asks a model once in each dialect to call a tool. The calls are real and cost money, but the prompt is short. */
export async function tryDialects(choice: ModelChoice, { environment, dialect, timeoutMs = 120_000 }: TrialOptions): Promise<ModelTrial> {
  const model = modelFrom(choice, { environment })
  const dialects: readonly Dialect[] = model.dialect === undefined ? ['channels'] : ['channels', 'native']
  const trials: DialectTrial[] = []
  // one after the other, because a local server may need long to load the model
  for (const each of dialects) trials.push(await tryDialect(model, each, timeoutMs))
  return { chosen: dialectOf(dialect, model), trials }
}

const echo = defineTool({
  id: 'doctor.echo',
  description: 'Returns the word that it is given.',
  params: z.object({ word: z.string().describe('one word') }),
  run: ({ word }) => word,
})
const question = '[USER MESSAGE]\nCall the tool doctor.echo with the word "ready" now. Do not answer before you have called it.\n\n'

async function tryDialect(model: Model, dialect: Dialect, timeoutMs: number): Promise<DialectTrial> {
  const system = createSystemPrompt({ tools: [echo], dialect, instructions: 'You are being tested.' }, roughTokens)
  const request = {
    role: 'decision' as const,
    system: system.text,
    ...(system.tools && { tools: system.tools }),
    parts: [{ type: 'text' as const, text: question }],
    maxTokens: 2_000,
    temperature: 0,
    cacheKey: 'doctor',
    read: async () => new Uint8Array(),
  }
  try {
    const { raw, finish } = await collect(model.stream(request, AbortSignal.timeout(timeoutMs)), dialect)
    if (finish?.type === 'error') return { dialect, ok: false, found: finish.error.message }
    const end = { finishReason: finish?.finishReason ?? ('other' as FinishReason), maxTokens: request.maxTokens }
    const { signatures } = createToolbox([echo])
    return { dialect, ...judge(readDecision(parseRecordedResponse({ raw, dialect }, end), { tools: signatures })) }
  } catch (error) {
    return { dialect, ok: false, found: errorMessage(error) }
  }
}

async function collect(events: AsyncIterable<ModelEvent>, dialect: Dialect) {
  const parts = createPartCollector()
  let text = ''
  let finish: Extract<ModelEvent, { type: 'finish' | 'error' }> | undefined
  for await (const event of events) {
    if (event.type === 'finish' || event.type === 'error') finish = event
    else parts.add(event)
    if (event.type === 'text.delta') text += event.text
  }
  return { raw: dialect === 'native' ? formatParts(parts.parts) : text, finish }
}

function judge(reading: ReturnType<typeof readDecision>): Omit<DialectTrial, 'dialect'> {
  if (!reading.ok) return { ok: false, found: `the reply could not be read: ${reading.violation.message}` }
  const { decision } = reading
  if (decision.action !== 'call_tool') return { ok: false, found: 'answered in words and did not call the tool' }
  return decision.toolId === echo.id
    ? { ok: true, found: 'calls tools' }
    : { ok: false, found: `called ${decision.toolId}, which does not exist` }
}
