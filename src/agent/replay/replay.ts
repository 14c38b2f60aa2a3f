import { Failure } from '../../core/failure.ts'
import type { Ledger } from '../conversation/ledger.ts'
import { collectFeedback } from '../turn/feedback.ts'
import { runTurn } from '../turn/turn.ts'
import type { Divergence } from './divergence.ts'
import { DivergenceError } from './player.ts'
import { type Recording, recordingsIn } from './recording.ts'
import { type RecordedStore, type ReplayParts, type ReplaySetup, setUpReplay } from './setup.ts'

export interface Replayed {
  readonly turnId: string
  /** Decisions that were gone through. */
  readonly rounds: number
  /** Undefined: the present code does what it did. */
  readonly divergence?: Divergence
  /** It was not gone through: a retention policy has let go of what it saw. */
  readonly torn?: true
}

/**
 * Runs the present code against what models answered and tools returned, turn by turn, and says where it first does something else.
 * No model is asked, no tool is run, nothing is written. With a turn id, that turn alone.
 */
export async function replay(
  store: RecordedStore,
  conversationId: string,
  parts: ReplayParts = {},
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
  const stage = setUpReplay(store, conversationId, recording, parts)
  const divergence = await runReplay(stage, recording)
  return { turnId: recording.turnId, rounds: stage.rounds(), ...(divergence && { divergence }) }
}

/** Goes through a turn, up to its end or to the first difference. */
export async function runReplay({ turn, player: conductor }: ReplaySetup, recording: Recording): Promise<Divergence | undefined> {
  try {
    const feedbacks = await collectFeedback(pastLedger(recording), recording.start.openTurn?.ts ?? conductor.now(), turn.settings)
    await runTurn({ ...turn, feedbacks }, { kind: 'unfinished' })
    conductor.end()
  } catch (error) {
    if (!(error instanceof DivergenceError)) throw error
  }
  return conductor.divergence
}

/** What it would commit was committed then, and is part of the start. */
const pastLedger = ({ before }: Recording): Ledger => ({ timeline: before, lastSeq: 0, commit: async () => {} })
