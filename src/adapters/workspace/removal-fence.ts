import { Failure } from '../../core/failure.ts'
import type { Files } from '../../ports/files.ts'
import type { WorkspaceFolders } from './workspace.ts'

/** The state that all opened folders of one conversation share. It tells whether files in them may still be changed. */
interface Gate {
  removed: boolean
  /** The calls of `write`, `remove`, `replaceFolder` and `onDisk` that are running now. */
  readonly changes: Set<Promise<unknown>>
}

/**
 * Rejects changes of files in folders that were opened before the workspace was removed. A tool may still run after its conversation was
 * deleted. Without this check, it would create the folder again.
 */
export function createRemovalFence() {
  // The gate of each conversation, by its folder. The references are weak, because workspaces are never closed. An open folder refers to
  // its gate, so the gate exists as long as the folder is used.
  const gates = new Map<string, WeakRef<Gate>>()
  const forgotten = new FinalizationRegistry<string>((home) => {
    if (!gates.get(home)?.deref()) gates.delete(home)
  })

  function gateOf(home: string): Gate {
    const known = gates.get(home)?.deref()
    if (known) return known
    const gate: Gate = { removed: false, changes: new Set() }
    gates.set(home, new WeakRef(gate))
    forgotten.register(gate, home)
    return gate
  }

  return {
    /** Returns the folders, with functions that throw after `remove`. `home` is the folder of the conversation. */
    guard(home: string, { files, scratch, runtime, onDisk }: WorkspaceFolders): WorkspaceFolders {
      const gate = gateOf(home)
      return {
        files: guarded(files, gate),
        scratch: guarded(scratch, gate),
        runtime: guarded(runtime, gate),
        onDisk: (turnId, use) => changing(gate, () => onDisk(turnId, use)),
      }
    },

    /** Makes all later changes in the open folders fail, waits for the changes that are running, and then runs `removeFiles`. */
    async remove(home: string, removeFiles: () => Promise<void>): Promise<void> {
      const gate = gates.get(home)?.deref()
      gates.delete(home) // folders that are opened from now on belong to a new conversation with the same name
      if (gate) {
        gate.removed = true
        await Promise.allSettled(gate.changes)
      }
      await removeFiles()
    },
  }
}

async function changing<T>(gate: Gate, work: () => Promise<T>): Promise<T> {
  if (gate.removed) throw new Failure('workspace.failed', 'the conversation was deleted, so its files can not be changed any more')
  const running = work()
  gate.changes.add(running)
  try {
    return await running
  } finally {
    gate.changes.delete(running)
  }
}

const guarded = (files: Files, gate: Gate): Files => ({
  ...files,
  write: (...params) => changing(gate, () => files.write(...params)),
  remove: (...params) => changing(gate, () => files.remove(...params)),
  replaceFolder: (...params) => changing(gate, () => files.replaceFolder(...params)),
})
