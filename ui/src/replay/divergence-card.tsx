import type { DivergenceView } from 'daybook/client'
import type { JournalState } from '../data/journal.ts'
import { cutAtByte, type ReplayRow } from '../model/inspect/replay-rows.ts'

interface DivergenceCardProps {
  readonly row: ReplayRow
  readonly divergence: DivergenceView
  readonly entries: JournalState['entries']
}

/** The first difference of a turn. It shows the recorded and the current text, and marks the first byte that differs. */
export function DivergenceCard({ row, divergence, entries }: DivergenceCardProps) {
  const { block, byte, recorded, present, words, field } = divergence
  const before = byte === null || field !== 'text' ? '' : textBefore(entries, row.seq, block?.id, byte)
  return (
    <div className="border-y border-line bg-bad-tint" data-testid="divergence">
      <p className="px-3 py-1.5 text-sm text-bad">{words}</p>
      {block && (
        <p className="px-3 pb-1 text-xs">
          <span className="text-soft">Block </span>
          <span className="font-mono">
            {block.id} {block.path ?? block.type}
          </span>
          {byte !== null && <span className="text-soft">, byte {byte}</span>}
        </p>
      )}
      <div className="grid grid-cols-2 font-mono text-xs leading-5">
        <Side name="On record" before={before} text={recorded} />
        <Side name="Now" before={before} text={present} />
      </div>
    </div>
  )
}

function Side({ name, before, text }: { readonly name: string; readonly before: string; readonly text: string | null }) {
  const [first = '', ...rest] = [...(text ?? '')]
  return (
    <p className="min-w-0 border-l border-line px-3 py-1.5 break-words whitespace-pre-wrap first:border-l-0" aria-label={name}>
      {text === null ? (
        <span className="font-sans text-soft">not known</span>
      ) : (
        <>
          <span className="text-soft">{before}</span>
          <mark className="bg-bad text-page">{first === '' ? ' ' : first}</mark>
          {rest.join('')}
        </>
      )}
    </p>
  )
}

/** The last 200 characters of the recorded block before the first difference. Both sides have them in common. */
function textBefore(entries: JournalState['entries'], seq: number, id: string | undefined, byte: number): string {
  const change = entries.find((entry) => entry.seq === seq)?.change
  const block = change && 'blocks' in change ? change.blocks.find((each) => each.id === id) : undefined
  const [common] = cutAtByte(block?.text ?? '', byte)
  return common.slice(-200)
}
