import { useState } from 'react'
import { client } from '../data/session.ts'
import { Button } from '../primitives/button.tsx'

interface ForkBarProps {
  readonly id: string
  /** The entry that the person chose. If no call was open at this entry, the copy has all entries up to it. */
  readonly seq: number
  /** The last entry that is copied. It is lower than `seq` if a call had no result yet at `seq`. */
  readonly cut: number
  readonly leftOut: number
  onForked(id: string): void
  onClose(): void
}

/** Asks whether to fork. Behind it, the blocks that the copy will not have are faded. */
export function ForkBar({ id, seq, cut, leftOut, onForked, onClose }: ForkBarProps) {
  const [problem, setProblem] = useState<string>()
  const [busy, setBusy] = useState(false)
  async function fork() {
    setBusy(true)
    try {
      onForked((await client.conversations.fork(id, { at_seq: seq })).id)
    } catch (error) {
      setBusy(false)
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <div
      role="group"
      aria-label="Fork"
      className="fade-in flex flex-wrap items-center gap-3 border-t border-line bg-tint px-4 py-2 text-sm"
    >
      <p className="min-w-0 flex-1">
        A copy with everything up to entry {cut}
        {cut < seq && ', the last entry before your choice at which every call had a result'}.{' '}
        {leftOut === 0 ? 'Nothing is left out.' : `${leftOut} later ${leftOut === 1 ? 'block is' : 'blocks are'} left out.`}
        {problem !== undefined && (
          <span role="alert" className="block text-bad">
            {problem}
          </span>
        )}
      </p>
      <Button onClick={onClose}>Cancel</Button>
      <Button look="primary" disabled={busy} onClick={() => void fork()}>
        Fork
      </Button>
    </div>
  )
}
