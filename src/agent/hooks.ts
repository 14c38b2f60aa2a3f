import { type Block, type Draft, isoTime, parseBlock } from '../core/block/index.ts'
import type { InboxEvent } from '../core/timeline/change.ts'
import type { AgentParts } from './agent.ts'
import type { AgentContext } from './conversation/conversation.ts'

/** Where an application may look in, or add blocks of its own. */
export interface HookFunctions {
  onBeforeCompaction(report: unknown): void | Promise<void>
  onAfterCompaction(report: unknown): void | Promise<void>
  /** The summary that now stands for what was compacted, for whoever keeps summaries elsewhere, too. */
  saveSummary(summary: Block): void | Promise<void>
  /** Something from outside has become part of the turn. */
  onExternalEvent(folded: FoldedEvent): void | Promise<void>
  /** Its blocks stand before the completion. Asked again when the answer was held back after all: something came in while it ran. */
  onBeforeCompletion(): readonly Draft[] | Promise<readonly Draft[]>
  /** Its blocks stand after the completion. Asked again, too. */
  onAfterCompletion(): readonly Draft[] | Promise<readonly Draft[]>
  /** The turn is closed, and everything it leaves behind is written. */
  onFlushCompleted(turn: { readonly turnId: string; readonly exitReason: string }): void | Promise<void>
}

/** An event, and the blocks that it became. */
export interface FoldedEvent {
  readonly type: InboxEvent['kind']
  readonly event: InboxEvent
  readonly blocks: readonly Block[]
}

export type Hooks = {
  readonly [Name in keyof HookFunctions]: (...args: Parameters<HookFunctions[Name]>) => Promise<Awaited<ReturnType<HookFunctions[Name]>>>
}

export interface HookSettings {
  readonly timeoutMs: number
  /** A hook that fails is told of here, and nowhere else. */
  onError(name: keyof HookFunctions, error: unknown): void
}

/** Hooks that cannot break a turn: in order of registration, each with a timeout, a failure reported and passed over. */
export function createHooks(registered: readonly Partial<HookFunctions>[], { timeoutMs, onError }: HookSettings): Hooks {
  async function each<Result>(
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
  /** What they do to what they are given is theirs. */
  const tell = async <Name extends ObserverHook>(name: Name, said: Parameters<HookFunctions[Name]>[0]): Promise<void> => {
    if (registered.length > 0)
      await each(name, (hooks) => (hooks[name] as ((said: unknown) => void | Promise<void>) | undefined)?.(structuredClone(said)))
  }
  const drafts = async (name: 'onBeforeCompletion' | 'onAfterCompletion') =>
    registered.length === 0 ? [] : (await each(name, async (hooks) => checkDrafts(await hooks[name]?.()))).flat()

  return {
    onBeforeCompaction: (report) => tell('onBeforeCompaction', report),
    onAfterCompaction: (report) => tell('onAfterCompaction', report),
    saveSummary: (summary) => tell('saveSummary', summary),
    onExternalEvent: (folded) => tell('onExternalEvent', folded),
    onFlushCompleted: (turn) => tell('onFlushCompleted', turn),
    onBeforeCompletion: () => drafts('onBeforeCompletion'),
    onAfterCompletion: () => drafts('onAfterCompletion'),
  }
}

/** Those that are only told. */
type ObserverHook = Exclude<keyof HookFunctions, 'onBeforeCompletion' | 'onAfterCompletion'>

/** What a hook hands over is entered beside the answer, so it must be something that can be entered. */
function checkDrafts(drafts: readonly Draft[] = []): readonly Draft[] {
  for (const draft of drafts) {
    parseBlock({ id: 'b_0', ...draft })
    if (isoTime(draft.ts) !== draft.ts) throw new RangeError(`"${draft.ts}" is not a time such as 2026-01-01T00:00:00Z`)
  }
  return JSON.parse(JSON.stringify(drafts)) as readonly Draft[]
}

async function withTimeout<Result>(ms: number, name: string, work: Result | Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`hook ${name} took longer than ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Functions of the application's own that are told what happens. None of them can change it: what one throws ends here. */
export function safeCallbacks({
  onEntry,
  onProblem,
}: Pick<AgentParts, 'onEntry' | 'onProblem'>): Pick<AgentContext, 'onEntry' | 'onProblem'> {
  const report: AgentContext['onProblem'] = (problem) => {
    try {
      onProblem?.(problem)
    } catch (error) {
      process.emitWarning(`onProblem threw while it was told of "${problem.where}": ${String(error)}`, { code: 'DAYBOOK_ON_PROBLEM' })
    }
  }
  const look: AgentContext['onEntry'] =
    onEntry &&
    ((conversation, event) => {
      try {
        onEntry(conversation, event)
      } catch (error) {
        report({ where: 'onEntry', error })
      }
    })
  return { onEntry: look, onProblem: report }
}
