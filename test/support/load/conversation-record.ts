import type { NativeFrame } from '../../../src/core/event.ts'
import { answerText } from './load-model.ts'

/** What one follower of a conversation has received. */
export interface ConversationRecord {
  /** Reads one event of the stream. `seq` is undefined for an event that is not an entry. */
  read(seq: number | undefined, data: string): void
  readsOf(messageId: string): MessageReads
  /** Resolves when a turn that has read the message is closed. */
  untilAnswered(messageId: string): Promise<void>
  readonly lastSeq: number
  /** `doubled` is the number of entries that were received twice, and `missed` is the number of entries that were left out. */
  readonly doubled: number
  readonly missed: number
}

/** What has happened to a message. */
export interface MessageReads {
  /** How many turns have read the message. */
  readonly reads: number
  /** How many of these turns were closed. */
  readonly closed: number
  readonly answers: number
  /** Whether the process died during the call of the tool. In this case it is not known whether the tool ran. */
  readonly isOutcomeUnknown: boolean
}

export function createConversationRecord(): ConversationRecord {
  const turnsOfMessage = new Map<string, string[]>()
  const closedTurns = new Map<string, number>()
  const answers = new Map<string, number>()
  const unknownTurns = new Set<string>()
  const waiting = new Map<string, () => void>()
  let lastSeq = 0
  let doubled = 0
  let missed = 0

  const isAnswered = (messageId: string) => (turnsOfMessage.get(messageId) ?? []).some((turn) => closedTurns.has(turn))

  function readChange(data: string): void {
    const frame = JSON.parse(data) as NativeFrame
    if (frame.type !== 'entry') return
    const { change } = frame
    if (change.type === 'event.folded' && change.turn_id !== null) {
      for (const id of change.event_ids) turnsOfMessage.set(id, [...(turnsOfMessage.get(id) ?? []), change.turn_id])
    } else if (change.type === 'blocks.appended') {
      for (const { type, turn_id, text = '' } of change.blocks) {
        if (type === 'assistant.completion') answers.set(text, (answers.get(text) ?? 0) + 1)
        if (type === 'react.tool.result' && text.includes('outcome_unknown')) unknownTurns.add(turn_id)
      }
    } else if (change.type === 'turn.closed') {
      closedTurns.set(change.turn_id, (closedTurns.get(change.turn_id) ?? 0) + 1)
      for (const [id, resolve] of waiting) if (isAnswered(id)) resolve()
    }
  }

  return {
    read(seq, data) {
      if (seq === undefined) return
      if (seq <= lastSeq) return void doubled++
      missed += seq - lastSeq - 1
      lastSeq = seq
      readChange(data)
    },
    readsOf(messageId) {
      const turns = turnsOfMessage.get(messageId) ?? []
      const closed = turns.reduce((sum, turn) => sum + (closedTurns.get(turn) ?? 0), 0)
      const isOutcomeUnknown = turns.some((turn) => unknownTurns.has(turn))
      return { reads: turns.length, closed, answers: answers.get(answerText(messageId)) ?? 0, isOutcomeUnknown }
    },
    untilAnswered: (messageId) =>
      new Promise((resolve) => {
        if (isAnswered(messageId)) return resolve()
        waiting.set(messageId, () => {
          waiting.delete(messageId)
          resolve()
        })
      }),
    get lastSeq() {
      return lastSeq
    },
    get doubled() {
      return doubled
    },
    get missed() {
      return missed
    },
  }
}
