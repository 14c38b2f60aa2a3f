import type { Change } from 'daybook/client'

/** An entry in a few words. */
export function entryWords(change: Change | undefined): string {
  if (change === undefined) return 'nothing yet'
  switch (change.type) {
    case 'blocks.appended':
    case 'blocks.inserted':
      return change.blocks.map(({ type }) => type).join(', ')
    case 'range.compacted':
      return 'the conversation is summarised'
    case 'blocks.hidden':
      return change.reason === 'hide' ? 'the agent hides blocks' : 'old blocks are hidden'
    case 'blocks.revealed':
      return 'hidden blocks are shown again'
    case 'response.received':
      return change.role === undefined ? `the model answers, round ${change.iteration + 1}` : `the model answers (${change.role})`
    case 'turn.opened':
      return 'a turn begins'
    case 'turn.closed':
      return `the turn ends: ${change.exit_reason}`
    case 'turn.waiting':
      return 'the turn waits'
    case 'turn.resumed':
      return 'the turn continues'
    case 'event.accepted':
      return 'a message arrives'
    case 'sources.merged':
      return 'sources are added'
    case 'title.set':
      return `the title is “${change.title}”`
    case 'timeline.imported':
      return 'the conversation is imported'
    default:
      return change.type
  }
}
