import type { Block, Change, DivergenceView } from 'daybook/client'
import type { Entry } from './time-travel.ts'

/** A recorded entry of a turn, and how it compares with what the current code does. */
export interface ReplayRow {
  readonly seq: number
  readonly title: string
  readonly detail: string
  /**
   * `same`: the entry is before the first difference. `different`: the entry has the first difference. `not reached`: the entry is after
   * the first difference.
   */
  readonly result: 'same' | 'different' | 'not reached'
}

/** The entries of one round. `iteration` is undefined for the entries before the first round. */
export interface ReplayRound {
  readonly iteration: number | undefined
  readonly rows: readonly ReplayRow[]
}

/** The recorded entries of a turn by round, compared with a replay. */
export function replayRounds(entries: readonly Entry[], turnId: string, divergence: DivergenceView | null): readonly ReplayRound[] {
  const rounds: { iteration: number | undefined; rows: ReplayRow[] }[] = []
  for (const { seq, change } of entriesOfTurn(entries, turnId)) {
    const starts = change.type === 'response.received' && change.role === undefined
    if (starts || rounds.length === 0) rounds.push({ iteration: starts ? change.iteration : undefined, rows: [] })
    const result = !divergence || seq < divergence.seq ? 'same' : seq === divergence.seq ? 'different' : 'not reached'
    rounds.at(-1)?.rows.push({ seq, ...describe(change), result })
  }
  return rounds
}

function entriesOfTurn(entries: readonly Entry[], turnId: string): readonly Entry[] {
  const start = entries.findIndex(({ change }) => change.type === 'turn.opened' && change.turn_id === turnId)
  if (start < 0) return []
  const end = entries.findIndex(({ change }, index) => index > start && change.type === 'turn.closed' && change.turn_id === turnId)
  return entries.slice(start, end < 0 ? undefined : end + 1)
}

function describe(change: Change): { readonly title: string; readonly detail: string } {
  switch (change.type) {
    case 'blocks.appended':
    case 'blocks.inserted':
    case 'range.compacted':
      return {
        title: change.blocks.map(({ type }) => type).join(', '),
        detail: change.blocks.map(firstWords).find((words) => words !== '') ?? '',
      }
    case 'response.received':
      return { title: 'the model answers', detail: change.role ?? `round ${change.iteration + 1}` }
    case 'turn.closed':
      return { title: 'the turn ends', detail: change.exit_reason }
    case 'turn.opened':
      return { title: 'the turn begins', detail: '' }
    default:
      return { title: change.type, detail: '' }
  }
}

const firstWords = ({ text = '' }: Block): string => text.trim().split('\n', 1)[0]?.slice(0, 140) ?? ''

/** A text that is cut at a position in UTF-8 bytes, so that the character at the position can be marked. */
export function cutAtByte(text: string, byte: number): readonly [string, string] {
  const bytes = new TextEncoder().encode(text)
  return [new TextDecoder().decode(bytes.slice(0, byte)), new TextDecoder().decode(bytes.slice(byte))]
}
