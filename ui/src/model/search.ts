import type { ConversationView, TurnView } from 'daybook/client'

/** A place in a conversation that has the searched text. */
export interface FoundPlace {
  readonly turnIndex: number
  /** The number of the match among the matches in its turn, from 0. */
  readonly inTurn: number
}

/** All places with a text, in order. Upper and lower case do not matter. */
export function findInConversation({ turns }: Pick<ConversationView, 'turns'>, query: string): readonly FoundPlace[] {
  const wanted = query.trim().toLowerCase()
  if (wanted === '') return []
  return turns.flatMap((turn, turnIndex) => {
    const count = textsOf(turn).reduce((sum, text) => sum + countIn(text.toLowerCase(), wanted), 0)
    return Array.from({ length: count }, (_, inTurn) => ({ turnIndex, inTurn }))
  })
}

/** The texts of a turn that the page shows without a click: the message, the notes, later messages and the last answer. */
const textsOf = ({ prompt = '', steps, answers }: TurnView): readonly string[] => [
  prompt,
  ...steps.flatMap((step) => (step.kind === 'notes' || step.kind === 'message' ? step.text : [])),
  answers.at(-1)?.text ?? '',
]

function countIn(text: string, wanted: string): number {
  let count = 0
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) count++
  return count
}
