import type { TurnView } from 'daybook/client'

/** What the page says below a turn that ended without a complete answer. */
export interface TurnEnd {
  readonly text: string
  /** Whether sending the same question again may help. */
  readonly canRetry: boolean
}

/** The words for the end of a turn. Undefined if there is nothing to say. */
export function turnEnd({ exitReason, endedAt, answers }: Pick<TurnView, 'exitReason' | 'endedAt' | 'answers'>): TurnEnd | undefined {
  if (endedAt === undefined) return undefined
  const answer = answers.at(-1)
  if (answer?.stopped) return { text: 'You stopped this answer.', canRetry: false }
  switch (exitReason) {
    case 'error':
      // the answer of this turn already says what has happened
      if (answer) return { text: 'This turn ended with an error.', canRetry: true }
      return {
        text: 'The model could not be reached, or it ended with an error. Try again, or check the settings of the server.',
        canRetry: true,
      }
    case 'protocol_violation':
      return {
        text: 'The model did not give an answer that could be read. Try again, perhaps with other words or another model.',
        canRetry: true,
      }
    case 'cancelled':
    case 'steer':
      return answer ? undefined : { text: 'Stopped before an answer was written.', canRetry: true }
    case 'max_iterations':
      return { text: 'The agent reached its step limit. Ask it to continue if something is missing.', canRetry: false }
    case 'time':
      return { text: 'The agent reached its time limit. Ask it to continue if something is missing.', canRetry: false }
    case 'budget':
    case 'unpriced':
      return {
        text: 'The turn reached its cost limit, or the cost can not be limited because the price of the model is not known.',
        canRetry: false,
      }
    default:
      return answer?.truncated
        ? { text: 'The answer was cut off because it was too long. Ask the agent to continue.', canRetry: false }
        : undefined
  }
}
