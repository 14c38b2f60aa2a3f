import type { AnnounceSection } from '../core/announce/announce.ts'
import { type Block, type Draft, isoTime, parseBlock } from '../core/block/index.ts'
import { isObject } from '../core/json.ts'
import type { InboxEvent } from '../core/timeline/inbox-event.ts'
import type { AgentParts } from './agent.ts'
import type { AgentContext } from './agent-context.ts'

/** Functions of the application that are called during a turn. `onBeforeCompletion` and `onAfterCompletion` may add blocks to the turn. */
export interface HookFunctions {
  onBeforeCompaction(report: unknown): void | Promise<void>
  onAfterCompaction(report: unknown): void | Promise<void>
  /** Gets the summary that replaces the compacted blocks. An application can store it in another place as well. */
  saveSummary(summary: Block): void | Promise<void>
  /** Called when blocks were made from an event in the inbox: a followup, a steer or an external event. */
  onExternalEvent(folded: FoldedEvent): void | Promise<void>
  /**
   * Returns blocks that are committed before the answer. If an event arrives during the call, the answer is deferred. The hook is then
   * called again for the next answer.
   */
  onBeforeCompletion(): readonly Draft[] | Promise<readonly Draft[]>
  /**
   * Returns blocks that are committed after the answer. If an event arrives during the call, the answer is deferred. The hook is then
   * called again for the next answer.
   */
  onAfterCompletion(): readonly Draft[] | Promise<readonly Draft[]>
  /** Called after the turn is closed, when its blocks and files have been stored. */
  onFlushCompleted(turn: { readonly turnId: string; readonly exitReason: string }): void | Promise<void>
}

/** An inbox event and the blocks that were made of it. */
export interface FoldedEvent {
  readonly type: InboxEvent['kind']
  readonly event: InboxEvent
  readonly blocks: readonly Block[]
}

/** All hooks of the application as one object. Its functions never reject. */
export type Hooks = {
  readonly [Name in keyof HookFunctions]: (...args: Parameters<HookFunctions[Name]>) => Promise<Awaited<ReturnType<HookFunctions[Name]>>>
}

interface HookSettings {
  readonly timeoutMs: number
  /** Called when a hook throws or takes too long. */
  onError(name: keyof HookFunctions, error: unknown): void
}

/**
 * Runs the hooks in the order of registration, each with a timeout. A hook that fails is reported and skipped, so it can not break the
 * turn.
 */
export function createHooks(registered: readonly Partial<HookFunctions>[], { timeoutMs, onError }: HookSettings): Hooks {
  async function callEach<Result>(
    name: keyof HookFunctions,
    call: (hooks: Partial<HookFunctions>) => Result | Promise<Result>,
  ): Promise<Result[]> {
    const results: Result[] = []
    for (const hooks of registered) {
      if (!hooks[name]) continue
      try {
        results.push(await withTimeout(timeoutMs, name, call(hooks)))
      } catch (error) {
        onError(name, error)
      }
    }
    return results
  }
  /** Calls all hooks with this name. Each hook gets its own copy of the argument, so it can not change the objects of the turn. */
  const notify = async <Name extends ObserverHook>(name: Name, argument: Parameters<HookFunctions[Name]>[0]): Promise<void> => {
    if (registered.length === 0) return
    await callEach(name, (hooks) => (hooks[name] as ((argument: unknown) => void | Promise<void>) | undefined)?.(structuredClone(argument)))
  }
  const collectDrafts = async (name: 'onBeforeCompletion' | 'onAfterCompletion') =>
    registered.length === 0 ? [] : (await callEach(name, async (hooks) => checkDrafts(await hooks[name]?.()))).flat()

  return {
    onBeforeCompaction: (report) => notify('onBeforeCompaction', report),
    onAfterCompaction: (report) => notify('onAfterCompaction', report),
    saveSummary: (summary) => notify('saveSummary', summary),
    onExternalEvent: (folded) => notify('onExternalEvent', folded),
    onFlushCompleted: (turn) => notify('onFlushCompleted', turn),
    onBeforeCompletion: () => collectDrafts('onBeforeCompletion'),
    onAfterCompletion: () => collectDrafts('onAfterCompletion'),
  }
}

/** Whether a hook is called between the last response of a turn and the commit that ends the turn. */
export const delayCompletion = (registered: readonly Partial<HookFunctions>[]): boolean =>
  registered.some(({ onBeforeCompletion, onAfterCompletion }) => onBeforeCompletion ?? onAfterCompletion)

/** Hooks without a return value. */
type ObserverHook = Exclude<keyof HookFunctions, 'onBeforeCompletion' | 'onAfterCompletion'>

/**
 * Throws when a block that a hook returned is invalid. The blocks are committed together with the answer, so an invalid block would make
 * this commit fail.
 */
function checkDrafts(drafts: readonly Draft[] = []): readonly Draft[] {
  for (const draft of drafts) {
    parseBlock({ id: 'b_0', ...draft })
    if (isoTime(draft.ts) !== draft.ts)
      throw new RangeError(`the \`ts\` of a block must be a time such as 2026-01-01T00:00:00Z, not "${draft.ts}"`)
  }
  return JSON.parse(JSON.stringify(drafts)) as readonly Draft[]
}

async function withTimeout<Result>(ms: number, name: string, work: Result | Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`hook ${name} took longer than ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** The round for which `announce` of the application is called. `iteration` is the number of the round in its turn and counts from 0. */
export interface AnnouncedRound {
  readonly conversationId: string
  readonly turnId: string
  readonly iteration: number
}

/**
 * Returns sections for the announce of a round, or nothing. The function is called once per round. The round waits for the result, so the
 * function should be quick.
 */
export type AnnounceFunction = (
  round: AnnouncedRound,
) => readonly AnnounceSection[] | undefined | Promise<readonly AnnounceSection[] | undefined>

interface AnnouncerSettings {
  readonly timeoutMs: number
  onError(error: unknown): void
}

/**
 * Makes a function that returns the sections of the application and the section about changed skills. If `announce` throws, takes too long
 * or returns a value of another type, the error is reported, and the round has no sections of the application. Returns undefined when
 * neither the application nor the skills can add a section.
 */
export function createAnnouncer(
  { announce, builtIn }: Pick<AgentParts, 'announce' | 'builtIn'>,
  { timeoutMs, onError }: AnnouncerSettings,
) {
  const skills = builtIn?.skills?.changes && builtIn.skills
  if (!announce && !skills) return undefined
  const sectionsOfApplication = async (round: AnnouncedRound): Promise<readonly AnnounceSection[]> => {
    try {
      const returned = announce?.(round)
      const sections = isThenable(returned) ? await withTimeout(timeoutMs, 'announce', Promise.resolve(returned)) : returned
      return checkSections(sections)
    } catch (error) {
      onError(error)
      return []
    }
  }
  if (!skills) return sectionsOfApplication
  return async (round: AnnouncedRound): Promise<readonly AnnounceSection[]> => {
    const own = await sectionsOfApplication(round)
    try {
      const lines = skills.changes?.() ?? []
      return lines.length === 0 ? own : [...own, { title: 'changed skills', text: lines.join('\n') }]
    } catch (error) {
      onError(error)
      return own
    }
  }
}

const isThenable = (value: unknown): value is PromiseLike<readonly AnnounceSection[] | undefined> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

function checkSections(sections: readonly AnnounceSection[] = []): readonly AnnounceSection[] {
  const isSection = (section: unknown) => isObject(section) && typeof section.title === 'string' && typeof section.text === 'string'
  if (!Array.isArray(sections) || !sections.every(isSection)) throw new TypeError('announce must return a list of { title, text }')
  return sections.map(({ title, text }) => ({ title, text }))
}

/** Wraps `onEntry` and `onProblem` of the application, so that an error thrown by one of them does not reach the turn. */
export function safeCallbacks({
  onEntry,
  onProblem,
}: Pick<AgentParts, 'onEntry' | 'onProblem'>): Pick<AgentContext, 'onEntry' | 'onProblem'> {
  const safeOnProblem: AgentContext['onProblem'] = (problem) => {
    try {
      onProblem?.(problem)
    } catch (error) {
      process.emitWarning(`onProblem threw an error while reporting a problem in "${problem.where}": ${String(error)}`, {
        code: 'DAYBOOK_ON_PROBLEM',
      })
    }
  }
  const safeOnEntry: AgentContext['onEntry'] =
    onEntry &&
    ((conversationId, event) => {
      try {
        onEntry(conversationId, event)
      } catch (error) {
        safeOnProblem({ where: 'onEntry', error })
      }
    })
  return { onEntry: safeOnEntry, onProblem: safeOnProblem }
}
