import { createHash } from 'node:crypto'
import type { NativeFrame } from '../../../src/core/event.ts'
import { stepOf } from './load-model.ts'

/** What one follower of a conversation has received. */
export interface ReplicaRecord {
  read(seq: number | undefined, data: string): void
  readonly lastSeq: number
  /** `doubled` is the number of entries that arrived twice, and `missed` is the number of entries that were left out. */
  readonly doubled: number
  readonly missed: number
  /** Live events that were received. */
  readonly live: number
  readonly decisions: number
  /** Calls with an unknown outcome, because a process ended during the call. */
  readonly unknownOutcomes: number
  /** A hash of all entries that were received. */
  digest(): string
  /** Whether a turn that has read the message is closed. */
  isAnswered(messageId: string): boolean
  /** Events that were accepted or read more than once. */
  repeatedEvents(): number
  /** Complete responses of the model beyond the first for the same round of a turn, or for the same step. */
  repeatedResponses(): number
  /** For each step of the model, the time of its response. */
  readonly steps: ReadonlyMap<string, string>
  /** Entries of a turn after its end, or a second end. Only a process that has lost the conversation would write them. */
  staleEntries(): number
}

/** `onApproval` is called for each call that waits for a person. */
export function createReplicaRecord(onApproval: (callId: string) => void): ReplicaRecord {
  const accepted: string[] = []
  const reads = new Map<string, (string | null)[]>()
  const closed = new Set<string>()
  const rounds = new Map<string, number>()
  const steps = new Map<string, string>()
  const hash = createHash('sha256')
  let [lastSeq, doubled, missed, live, decisions, stale, unknownOutcomes, repeatedSteps] = [0, 0, 0, 0, 0, 0, 0, 0]

  function readChange({ change }: Extract<NativeFrame, { readonly type: 'entry' }>): void {
    const turnId = 'turn_id' in change ? change.turn_id : undefined
    // feedback and titles may arrive after the end of a turn, but entries that the turn itself writes may not
    if (turnId && closed.has(turnId) && ['turn.opened', 'turn.closed', 'turn.waiting', 'turn.resumed'].includes(change.type)) stale++
    if (change.type === 'event.accepted') {
      accepted.push(change.event.event_id)
      if (change.event.kind === 'decision') decisions++
    } else if (change.type === 'event.folded') {
      for (const id of change.event_ids) reads.set(id, [...(reads.get(id) ?? []), change.turn_id])
    } else if (change.type === 'turn.closed') closed.add(change.turn_id)
    else if (change.type === 'turn.waiting') {
      for (const { kind, call_id: callId } of change.waits) if (kind === 'approval' && callId !== undefined) onApproval(callId)
    } else if (change.type === 'blocks.appended') {
      for (const { type, text = '' } of change.blocks)
        if (type === 'react.tool.result' && text.includes('outcome_unknown')) unknownOutcomes++
    } else if (change.type === 'response.received' && change.finish_reason === 'stop') {
      const round = `${change.turn_id} ${change.iteration} ${change.role ?? ''}`
      rounds.set(round, (rounds.get(round) ?? 0) + 1)
      const step = stepOf(change.raw)
      if (step !== undefined && steps.has(step)) repeatedSteps++
      else if (step !== undefined) steps.set(step, change.ts)
    }
  }

  return {
    read(seq, data) {
      const frame = JSON.parse(data) as NativeFrame
      if (frame.type === 'lane.delta' || frame.type === 'status') live++
      if (seq === undefined || frame.type !== 'entry') return
      if (seq <= lastSeq) return void doubled++
      missed += seq - lastSeq - 1
      lastSeq = seq
      hash.update(data)
      readChange(frame)
    },
    digest: () => hash.copy().digest('hex'),
    isAnswered: (messageId) => (reads.get(messageId) ?? []).some((turnId) => turnId !== null && closed.has(turnId)),
    repeatedEvents: () => accepted.length - new Set(accepted).size + [...reads.values()].filter(({ length }) => length > 1).length,
    repeatedResponses: () => [...rounds.values()].reduce((sum, count) => sum + count - 1, 0) + repeatedSteps,
    steps,
    staleEntries: () => stale,
    get lastSeq() {
      return lastSeq
    },
    get doubled() {
      return doubled
    },
    get missed() {
      return missed
    },
    get live() {
      return live
    },
    get decisions() {
      return decisions
    },
    get unknownOutcomes() {
      return unknownOutcomes
    },
  }
}
