interface DifferenceProps {
  /** Lines with their kind. A number in the list says how many equal lines are left out at this place. */
  readonly lines: readonly ({ readonly kind: 'same' | 'removed' | 'added'; readonly text: string } | number)[]
  readonly label: string
}

const looks = {
  same: { sign: ' ', look: '' },
  removed: { sign: '−', look: 'bg-bad-tint text-bad' },
  added: { sign: '+', look: 'bg-tint text-accent' },
} as const

/** Two texts in one: removed and added lines, with the lines around them. */
export function Difference({ lines, label }: DifferenceProps) {
  return (
    <div
      role="region"
      aria-label={label}
      tabIndex={0}
      className="overflow-x-auto rounded-md border border-line font-mono text-xs leading-5"
    >
      {lines.map((line, index) =>
        typeof line === 'number' ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity
          <div key={index} className="bg-raised px-3 text-soft">
            {line} equal {line === 1 ? 'line' : 'lines'}
          </div>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity
          <div key={index} className={`flex px-3 ${looks[line.kind].look}`}>
            <span className="w-4 shrink-0 select-none" aria-hidden="true">
              {looks[line.kind].sign}
            </span>
            <span className="whitespace-pre-wrap break-words">{line.text === '' ? ' ' : line.text}</span>
          </div>
        ),
      )}
    </div>
  )
}
