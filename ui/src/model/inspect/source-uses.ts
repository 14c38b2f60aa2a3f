import { type Block, extractSids } from 'daybook/client'

/** A place where a source is cited. */
export interface SourceUse {
  readonly blockId: string
  readonly turnId: string
  readonly type: string
  readonly path: string | undefined
}

/** Where each source is cited, by SID: in answers, and in texts that the agent has written. */
export function sourceUses(blocks: readonly Block[]): ReadonlyMap<number, readonly SourceUse[]> {
  const uses = new Map<number, SourceUse[]>()
  for (const block of blocks) {
    if (!isWritten(block)) continue
    for (const sid of extractSids(block.text ?? '')) {
      const use = { blockId: block.id, turnId: block.turn_id, type: block.type, path: block.path }
      const known = uses.get(sid)
      if (known) known.push(use)
      else uses.set(sid, [use])
    }
  }
  return uses
}

/** Whether the agent has written the text for people. Results of tools are left out: they list their sources, but do not cite them. */
const isWritten = ({ type }: Block): boolean => type === 'assistant.completion' || type === 'react.notes' || type === 'react.tool.call'
