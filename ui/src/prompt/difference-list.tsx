import { useMemo } from 'react'
import { formatCount } from '../model/inspect/figures.ts'
import type { SegmentChange } from '../model/inspect/prompt-difference.ts'
import { foldedDifference, textDifference } from '../model/inspect/text-difference.ts'
import { Difference } from '../primitives/difference.tsx'

/** Two prompts compared block by block. Equal blocks are only counted. All other blocks are shown. */
export function DifferenceList({ changes }: { readonly changes: readonly SegmentChange[] }) {
  const groups = useMemo(() => groupsOf(changes), [changes])
  return (
    <div
      className="min-h-0 flex-1 space-y-3 overflow-y-auto p-4"
      tabIndex={0}
      role="region"
      aria-label="Difference"
      data-testid="difference"
    >
      {groups.map((group) =>
        typeof group === 'object' ? (
          <ChangedBlock key={`${group.kind} ${(group.now ?? group.before)?.key}`} change={group} />
        ) : (
          <p key={group} className="text-sm text-soft">
            {group.split(' ')[0]} equal {group.startsWith('1 ') ? 'block' : 'blocks'}
          </p>
        ),
      )}
    </div>
  )
}

const words = { same: 'equal', changed: 'changed', added: 'new', removed: 'gone' } as const

function ChangedBlock({ change: { kind, before, now } }: { readonly change: SegmentChange }) {
  const segment = now ?? before
  const lines = useMemo(() => foldedDifference(linesOf(before?.text, now?.text)).slice(0, 400), [before, now])
  return (
    <section aria-label={`${segment?.type} ${words[kind]}`} data-change={kind}>
      <h3 className="mb-1 flex gap-3 text-sm">
        <span className="font-mono">{segment?.type}</span>
        <span className="text-soft">{segment?.key}</span>
        <span className={kind === 'removed' ? 'text-bad' : 'text-accent'}>{words[kind]}</span>
        <span className="ml-auto text-xs tabular-nums text-soft">
          {formatCount((now?.text ?? '').length - (before?.text ?? '').length)} characters
        </span>
      </h3>
      <Difference lines={lines} label={`Difference of ${segment?.key}`} />
    </section>
  )
}

/** The lines of both texts. The empty lines that separate blocks are left out. */
function linesOf(first: string | undefined, second: string | undefined) {
  const [before, now] = [first?.trimEnd(), second?.trimEnd()]
  if (before === undefined) return (now ?? '').split('\n').map((text) => ({ kind: 'added' as const, text }))
  if (now === undefined) return before.split('\n').map((text) => ({ kind: 'removed' as const, text }))
  return textDifference(before, now)
}

/**
 * The changes, with one text such as `3 equal 5` in place of consecutive equal blocks. The last number is its position in the list. It
 * makes the text unique, so that it can be a key.
 */
function groupsOf(changes: readonly SegmentChange[]): readonly (SegmentChange | string)[] {
  const groups: (SegmentChange | string)[] = []
  let same = 0
  const flush = () => {
    if (same > 0) groups.push(`${same} equal ${groups.length}`)
    same = 0
  }
  for (const change of changes) {
    if (change.kind === 'same') same++
    else {
      flush()
      groups.push(change)
    }
  }
  flush()
  return groups
}
