import type { LiveRound } from 'daybook/client'

/** What the agent does now, in one line. */
export function RunningLine({ live }: { readonly live: LiveRound | undefined }) {
  return (
    <p className="flex items-center gap-2 text-sm text-soft" role="status">
      <span className="pulse size-2 rounded-full bg-accent" aria-hidden />
      {textOf(live)}
    </p>
  )
}

function textOf(live: LiveRound | undefined): string {
  if (live?.error && live.status === 'retrying') return 'The model did not answer. Trying again …'
  switch (live?.status) {
    case 'retrying':
      return 'The model did not answer. Trying again …'
    case 'compacting':
      return 'Shortening the conversation …'
    case 'tool.started':
      return 'Working …'
    case 'wrapping_up':
      return 'Finishing …'
    case 'deciding':
    case 'tool.ended':
    case undefined:
      return live?.lanes.some(({ marker }) => marker === 'answer') ? 'Writing …' : 'Thinking …'
    default:
      return 'Working …'
  }
}
