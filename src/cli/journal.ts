import type { JournalEntry } from '../core/cache/recorded-calls.ts'
import { Failure } from '../core/failure.ts'
import { openStoreToRead } from '../wiring/storage.ts'
import type { CommandContext } from './context.ts'

type Store = Awaited<ReturnType<typeof openStoreToRead>>

/**
 * Opens the local store, reads the whole journal of a conversation, and calls `use`. Throws if the settings contain a server, because `use`
 * gets a journal that is read from the store itself.
 */
export async function withJournal<T>(
  context: CommandContext,
  id: string,
  use: (journal: readonly JournalEntry[], store: Store) => T | Promise<T>,
): Promise<T> {
  const settings = await context.settings()
  if (settings.server !== undefined) {
    throw new RangeError('this command reads the journal itself: run it on the machine that has the data, without --server')
  }
  const store = await openStoreToRead(settings)
  try {
    if (!(await store.head(id))) throw new Failure('conversation.missing', `there is no conversation ${id}`)
    const journal: JournalEntry[] = []
    for await (const entry of store.readJournal(id, { after: 0 })) journal.push(entry)
    if (journal.some(({ seq }, index) => seq !== index + 1)) {
      context.terminal.errors.write('a part of the journal was deleted by retention: this report does not include it\n')
    }
    return await use(journal, store)
  } finally {
    await store.close()
  }
}

/** A report as JSON. Maps become objects. */
export const reportJson = (report: unknown): string =>
  JSON.stringify(report, (_key, value: unknown) => (value instanceof Map ? Object.fromEntries(value) : value), 1)
