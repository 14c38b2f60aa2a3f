import { parseConversationKey } from '../../core/scope.ts'
import type { Bundle } from '../../core/timeline/bundle.ts'
import { forkBundleAt } from '../../core/timeline/fork-at.ts'
import type { ConversationStore, Entry } from '../../ports/store.ts'
import type { Workspaces } from '../../ports/workspace.ts'
import { withVersions } from './bundle-files.ts'

/** The conversation `key` as it was after the entry `seq`, with the files of its turns. */
export async function bundleAt(
  { store, workspaces }: { readonly store: ConversationStore; readonly workspaces: Workspaces | undefined },
  key: string,
  seq: number,
): Promise<Bundle> {
  const journal: Entry[] = []
  for await (const entry of store.readJournal(key, { after: 0 })) journal.push(entry)
  const today = { ...(await store.exportBundle(key)), conversation_id: parseConversationKey(key).name }
  const bundle = forkBundleAt(today, journal, seq)
  return workspaces ? withVersions(bundle, key, store, workspaces) : bundle
}
