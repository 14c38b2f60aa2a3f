import { Failure } from '../../core/failure.ts'
import { checkOptions } from '../../core/options.ts'
import { replayArguments } from '../agent-options.ts'
import type { Ledger } from '../conversation/ledger.ts'
import { collectFeedback } from '../turn/feedback.ts'
import { runTurn, type Turn } from '../turn/turn.ts'
import type { Divergence } from './divergence.ts'
import { DivergenceError } from './player.ts'
import { type Recording, recordingsIn } from './recording.ts'
import { type RecordedStore, type ReplayParts, type ReplaySetup, setUpReplay } from './setup.ts'

/** The result of replaying one turn. */
export interface Replayed {
  readonly turnId: string
  /** How many decisions were replayed. */
  readonly rounds: number
  /** The first difference. Undefined when the current code does the same as the recording. */
  readonly divergence?: Divergence
  /**
   * Set when the turn can not be replayed, because it was imported, or because a retention policy has removed entries before
   * it or in it.
   */
  readonly torn?: true
}

/**
 * Runs recorded turns again with the current code, the recorded responses and the recorded results of the tools. Reports the first
 * difference in each turn. No model is called, no tool runs and nothing is written. With `turnId`, only this turn is replayed.
 */
export async function replay(
  store: RecordedStore,
  conversationId: string,
  parts: ReplayParts = {},
  turnId?: string,
): Promise<readonly Replayed[]> {
  checkOptions('replay', { store, conversationId, parts, turnId }, replayArguments)
  return replayTurns(store, conversationId, parts, turnId)
}

/** Replays turns as `replay` does, but does not check `parts`, because they come from an agent that has checked them. */
export async function replayTurns(
  store: RecordedStore,
  conversationId: string,
  parts: ReplayParts,
  turnId?: string,
): Promise<readonly Replayed[]> {
  const replayed: Replayed[] = []
  for await (const recording of recordingsIn(store.readJournal(conversationId, { after: 0 }))) {
    if (turnId === undefined || recording.turnId === turnId) replayed.push(await replayTurn(store, conversationId, recording, parts))
  }
  if (replayed.length > 0 || turnId === undefined) return replayed
  throw new Failure('turn.missing', `there is no turn ${turnId} in the journal of ${conversationId}`)
}

async function replayTurn(store: RecordedStore, conversationId: string, recording: Recording, parts: ReplayParts): Promise<Replayed> {
  if (recording.torn) return { turnId: recording.turnId, rounds: 0, torn: true }
  const setup = await setUpReplay(store, conversationId, recording, parts)
  const divergence = await runReplay(setup, recording)
  return { turnId: recording.turnId, rounds: setup.rounds(), ...(divergence && { divergence }) }
}

/** Runs the turn to its end or to the first difference. */
export async function runReplay({ turn, player, resumed }: ReplaySetup, recording: Recording): Promise<Divergence | undefined> {
  try {
    const feedbacks = await collectFeedback(pastLedger(recording), recording.start.openTurn?.ts ?? player.now(), turn.agent.settings)
    for (let next: Turn | undefined = turn; next; next = resumed()) await runTurn(next, { kind: 'unfinished' }, feedbacks)
    player.end()
  } catch (error) {
    if (!(error instanceof DivergenceError)) throw error
  }
  return player.divergence
}

/**
 * The ledger from which the feedback on earlier turns is collected: it has the timeline before the turn. Changes that are committed to it
 * are dropped, because the turn is replayed on the timeline `start`, which already has these changes.
 */
const pastLedger = ({ before }: Recording): Ledger => ({ timeline: before, lastSeq: 0, commit: async () => {} })
