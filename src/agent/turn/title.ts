import { type Block, clarificationBlock, type Draft, stageBlock } from '../../core/block/index.ts'
import { parsePhrases } from '../../core/decision/decision.ts'
import { contextLimit, type Estimator, tokenUpperBound } from '../../core/estimate/estimate.ts'
import { cutToTokens } from '../../core/estimate/tokens.ts'
import { isObject } from '../../core/json.ts'
import type { Part } from '../../core/render/types.ts'
import type { Channel } from '../../core/stream/channel.ts'
import { parseModelJson } from '../../core/stream/json/parse.ts'
import type { Change, ResponseReceived } from '../../core/timeline/change.ts'
import { assignIds, blocksOfTurn, type Timeline } from '../../core/timeline/timeline.ts'
import { asTitle, firstWords } from '../../core/title.ts'
import type { Model } from '../../ports/model.ts'
import type { TurnServices } from '../agent-context.ts'
import { isInvalidChange } from '../conversation/ledger.ts'
import { callQuietly, type QuietRequest } from '../model-call/call-quietly.ts'
import { parseChannels } from '../model-call/read-response.ts'
import { titlePrompt } from '../prompts/texts.ts'
import type { Progress, RoundResult } from './progress.ts'
import type { Turn } from './turn.ts'

const titleChannels: readonly Channel[] = [
  { name: 'thinking', format: 'text' },
  { name: 'output', format: 'json' },
]

/** The title of a new conversation, which the model writes while the first turn runs. */
export interface PendingTitle {
  /**
   * The blocks about the title, which the model reads in the next prompt. Undefined until the model has answered. `place` says which commit
   * will contain the blocks: `with response` is the next commit of the round, `between rounds` is a commit that has only these blocks.
   */
  drafts(place: 'with response' | 'between rounds'): readonly Draft[] | undefined
  /** Resolves when the model has answered, or when the call has ended without an answer. Never rejects. */
  readonly settled: Promise<void>
  /** Ends the call for the title if it is running. Resolves when no commit of the call is running any more. */
  stop(): Promise<void>
}

/**
 * Starts to make the title of a new conversation, and returns at once. Returns undefined if the turn has a cost limit and the price of a
 * model is not known: then the turn must end before any call.
 */
export function startTitle(turn: Turn, progress: Progress): Progress | undefined {
  const { models, settings } = turn.agent
  const asksModel = settings.title === 'model'
  if (!hasPrice(turn, models.decision) || (asksModel && !hasPrice(turn, models.gate))) return undefined
  const title = turn.agent.recordedTitle ?? (asksModel ? askTitle(turn) : undefined)
  return title ? { ...progress, title } : progress
}

/** Whether the turn may call the model: it has no cost limit, or the price of the model is known. */
const hasPrice = ({ agent: { settings }, conversation: { spending } }: Turn, { name }: Model): boolean =>
  settings.maxMoney === undefined || spending.hasPrice(name)

/**
 * Adds the title to a turn that another process has begun. If the journal has the title, the model is not asked again, and only missing
 * blocks of the title are made. `changes` are the entries of the turn.
 */
export function resumeTitle(turn: Turn, result: RoundResult, changes: readonly Change[]): RoundResult {
  if (result.kind === 'waiting') return result
  const title = result.progress.title ?? turn.agent.recordedTitle ?? missingTitle(turn, changes)
  return title ? { ...result, progress: { ...result.progress, title } } : result
}

function missingTitle(turn: Turn, changes: readonly Change[]): PendingTitle | undefined {
  const { turnId, agent, conversation } = turn
  const { timeline } = conversation.ledger
  const response = changes.find(isTitleResponse)
  if (response) {
    const drafts = titleDrafts(response)
    const isEntered = changes.some((change) => change.type === 'blocks.appended' && startsWith(change.blocks, drafts))
    return isEntered ? undefined : { drafts: () => drafts, settled: Promise.resolve(), stop: async () => {} }
  }
  const mayAsk = agent.settings.title === 'model' && hasPrice(turn, agent.models.gate)
  return isFirstTurn(timeline, turnId) && mayAsk && !conversation.signal.aborted ? askTitle(turn) : undefined
}

export const isFirstTurn = (timeline: Timeline, turnId: string): boolean => blocksOfTurn(timeline, turnId).length === timeline.size

/** Whether a change is the response of a call for a title. */
export const isTitleResponse = (change: Change): change is ResponseReceived => change.type === 'response.received' && change.role === 'gate'

/** Whether a commit with these blocks begins with the blocks of the title. */
export const startsWith = ([first]: readonly Block[], [draft]: readonly Draft[]): boolean =>
  draft === undefined || (first?.type === draft.type && first.ts === draft.ts && first.path === draft.path)

/**
 * Calls the gate model. The response and the title are committed as soon as the model has answered, so that a crash does not lose them and
 * users see the title at once. The blocks of the title, which later prompts show, are committed with the next round. If the call fails, the
 * conversation has no title. An incomplete response is not committed.
 */
function askTitle(turn: Turn): PendingTitle {
  const { turnId, agent, conversation } = turn
  const { ledger, inbox } = conversation
  const activity = inbox.beginActivity('background')
  let drafts: readonly Draft[] | undefined
  let answered = false
  let stopped = false
  let committed = Promise.resolve()

  async function commit(response: ResponseReceived, title: string | undefined): Promise<void> {
    const { ts } = response
    try {
      await ledger.commit((timeline) => [
        response,
        // a title that the user has set while the model wrote is kept
        ...(title === undefined || timeline.title !== undefined ? [] : [{ type: 'title.set' as const, ts, title }]),
      ])
    } catch (error) {
      // Only an invalid response is reported here. After any other error, the next commit of the turn fails with the same error.
      if (!isInvalidChange(error)) return
      drafts = []
      agent.onProblem({ where: 'title', error })
    }
  }

  const settled = callQuietly(turn, titleRequest(turn), activity).then((response) => {
    answered = true
    if (stopped || response.finish_reason === 'interrupted' || ledger.timeline.openTurn?.turn_id !== turnId) return
    const parsed = parseTitleResponse(response.raw)
    drafts = titleDrafts(response, parsed)
    committed = commit(response, parsed.title)
    return committed
  })
  return {
    drafts: () => drafts,
    settled,
    stop() {
      stopped = true
      if (!answered) activity.abort(new DOMException('The turn has ended.', 'AbortError'))
      return committed
    },
  }
}

function titleRequest({ turnId, agent, conversation: { ledger, renderers } }: Turn): QuietRequest {
  const prompt = renderers.renderer.render(ledger.timeline, { currentTurnId: turnId, points: () => [] })
  const limit = contextLimit(agent.settings, agent.models.gate.window) - renderers.estimator.text(titlePrompt)
  const parts = firstParts(prompt.parts, Math.min(TITLE_TOKENS, limit), renderers.estimator)
  return { role: 'gate', system: titlePrompt, parts, ...agent.settings.gate }
}

/** The blocks that are made of a response: the title, and questions to the user. */
export function titleDrafts({ turn_id, ts, raw }: ResponseReceived, parsed = parseTitleResponse(raw)): readonly Draft[] {
  const { title, questions } = parsed
  return [
    ...(title === undefined ? [] : [stageBlock('gate', turn_id, ts, `[STAGE: GATE OUTPUT]\nconversation_title: ${title}`)]),
    ...(questions.length > 0 ? [clarificationBlock(turn_id, ts, questions)] : []),
  ]
}

/**
 * The blocks of the title, if the model has answered, and the progress without the title. The caller commits these blocks between two
 * rounds or before the blocks of a round. So they never come between a call and its result.
 */
export function takeTitle(
  progress: Progress,
  place: Parameters<PendingTitle['drafts']>[0] = 'with response',
): { readonly titleBlocks: readonly Draft[]; readonly untitled: Progress } {
  const drafts = progress.title?.drafts(place)
  if (!drafts) return { titleBlocks: [], untitled: progress }
  const { title: _taken, ...untitled } = progress
  // A round that failed after its commit leaves a progress with the title. The blocks have ids then, and must not be committed again.
  return { titleBlocks: drafts.some((draft) => 'id' in draft) ? [] : drafts, untitled }
}

/** Commits the blocks of the title between two rounds, if the model has answered since the last round. */
export async function enterTitle({ conversation: { ledger } }: Turn, progress: Progress): Promise<Progress> {
  const { titleBlocks, untitled } = takeTitle(progress, 'between rounds')
  if (titleBlocks.length > 0) await ledger.commit((timeline) => [{ type: 'blocks.appended', blocks: assignIds(timeline, titleBlocks) }])
  return untitled
}

/** Waits for the title before the turn ends or waits, for at most `titleWaitMs`. The wait ends early if an event arrives. */
export async function waitForTitle({ agent, conversation }: Turn, { title }: Progress): Promise<void> {
  if (!title || title.drafts('with response') || conversation.signal.aborted) return
  await conversation.inbox.waitForEvents(agent.settings.titleWaitMs, title.settled)
}

/**
 * The title that is made of a message without a model. Undefined with `title: 'model'` or `false`, and if the function of the application
 * throws or returns no text.
 */
export function localTitle(
  { settings: { title }, onProblem }: Pick<TurnServices, 'settings' | 'onProblem'>,
  text: string,
): string | undefined {
  if (title === 'model' || title === false) return undefined
  try {
    const made: unknown = title === 'first-words' ? firstWords(text) : title(text)
    if (typeof made !== 'string') throw new TypeError(`the setting \`title\` must return a text, not ${typeof made}`)
    return asTitle(made) || undefined
  } catch (error) {
    onProblem({ where: 'title', error })
    return undefined
  }
}

/** The beginning of the message is enough for a title. More tokens would only cost more. */
const TITLE_TOKENS = 4_000

/**
 * The first parts of the prompt, up to `maxTokens` tokens. A text that is too long is cut. Images and documents that are too large are left
 * out.
 */
function firstParts(parts: readonly Part[], maxTokens: number, estimator: Estimator): readonly Part[] {
  const upperBound = parts.reduce((sum, part) => sum + (part.type === 'text' ? tokenUpperBound(part.text) : Number.POSITIVE_INFINITY), 0)
  if (upperBound <= maxTokens) return parts
  let room = maxTokens
  return parts.flatMap((part) => {
    const tokens = estimator.parts([part])
    const fitting =
      tokens <= room
        ? part
        : part.type === 'text'
          ? { ...part, text: cutToTokens(part.text, Math.max(0, room), estimator.text) }
          : undefined
    if (fitting === undefined || (fitting.type === 'text' && fitting.text === '')) return []
    room -= Math.min(tokens, room)
    return [fitting]
  })
}

/**
 * Reads title and questions from the channel `output`. If the channel has no valid JSON, the first `"conversation_title": "…"` in the
 * response is the title.
 */
export function parseTitleResponse(raw: string): { readonly title: string | undefined; readonly questions: readonly string[] } {
  const { channels } = parseChannels(raw, titleChannels)
  const parsed = parseModelJson(channels.find(({ name }) => name === 'output')?.instances.join('') ?? '')
  const output = parsed.ok && isObject(parsed.value) ? parsed.value : {}
  const titled = typeof output.conversation_title === 'string' ? output.conversation_title : undefined
  const found = titled ?? /"conversation_title"\s*:\s*"([^"\n]{1,120})"/.exec(raw)?.[1]
  const title = found && asTitle(found)
  return { title: title ? title : undefined, questions: parsePhrases(output.clarification_questions) }
}
