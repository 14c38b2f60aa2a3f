import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSystemClock } from '../../../src/adapters/clock/system.ts'
import type { Change } from '../../../src/core/timeline/change.ts'
import type { Timeline } from '../../../src/core/timeline/timeline.ts'
import type { ConversationStore } from '../../../src/ports/store.ts'
import type { TurnObserver } from '../../../src/testing/torture/long-turn.ts'
import { openFolderStore } from '../stores.ts'

/**
 * Opens the store in a folder that several processes use. Files beside the store record model calls and effects of tools, one line each.
 */
export async function openCrashFolder(folder: string, clock = createSystemClock()) {
  return { clock, store: await openFolderStore(folder, { clock, file: 'store.sqlite' }) }
}

export const fileObserver = (folder: string): Pick<TurnObserver, 'onDecision' | 'onEffect'> => ({
  onDecision: (iteration, conversationId) => appendFileSync(join(folder, 'asked'), `${conversationId} ${iteration}\n`),
  onEffect: (key, toolId) => appendFileSync(join(folder, 'effects'), `${toolId} ${key}\n`),
})

export function linesOf(folder: string, file: 'asked' | 'effects'): readonly string[] {
  const path = join(folder, file)
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []
}

export interface ConversationRecord {
  readonly journal: readonly Change[]
  readonly timeline: Timeline | undefined
}

export async function recordOf(store: ConversationStore, conversationId: string): Promise<ConversationRecord> {
  const journal: Change[] = []
  for await (const { change } of store.readJournal(conversationId, { after: 0 })) journal.push(change)
  return { journal, timeline: (await store.loadVisible(conversationId))?.timeline }
}
