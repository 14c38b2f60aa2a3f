import { createMemoryFiles } from '../adapters/files/memory.ts'
import { conversationKey } from '../core/scope.ts'
import type { Files } from '../ports/files.ts'
import type { CheckoutOutcome, History, Hydration, HydrationRef, Workspace, Workspaces } from '../ports/workspace.ts'

/** Files of turns in memory, for tests. Earlier turns come back from what the journal has recorded; no versions are kept. */
export function createMemoryWorkspaces(): Workspaces {
  const open = new Map<string, Workspace>()
  return {
    implementation: 'custom',
    async open(owner, conversation) {
      const key = conversationKey(owner, conversation)
      const workspace = open.get(key) ?? createWorkspace()
      open.set(key, workspace)
      return workspace
    },
    async forget(owner, conversation) {
      open.delete(conversationKey(owner, conversation))
    },
  }
}

function createWorkspace(): Workspace {
  const files = createMemoryFiles()
  return {
    files,
    scratch: createMemoryFiles(),
    runtime: createMemoryFiles(),
    begin: async () => {},
    version: async () => undefined,
    hydrate: (turnId, refs, history) => hydrate(files, turnId, refs, history),
    checkout: async (): Promise<CheckoutOutcome> => ({ ok: false, code: 'failed', problems: [] }),
    publish: async () => ({ status: 'skipped', record: { status: 'skipped', reason: 'no versions are kept' } }),
    describe: async (turnId) => ({ implementation: 'custom', currentTurnRoot: turnId }),
  }
}

async function hydrate(files: Files, turnId: string, refs: readonly HydrationRef[], history: History): Promise<Hydration> {
  const present: { ref: HydrationRef; files: { path: string; size: number }[] }[] = []
  const missing: HydrationRef[] = []
  let fetched = 0
  for (const ref of refs) {
    const path = `${turnId}/${ref.area}/${ref.rel}`
    const here = await files.stat(path)
    const bytes = here
      ? undefined
      : await history.bytes(`fi:${turnId}.${ref.area === 'attachments' ? 'user.attachments' : ref.area}/${ref.rel}`)
    if (bytes) {
      await files.write(path, bytes, { readOnly: true })
      fetched++
    }
    const size = here?.size ?? bytes?.length
    if (size === undefined) missing.push(ref)
    else present.push({ ref, files: [{ path, size }] })
  }
  return { present, missing, errors: [], fetched }
}
