import { useEffect, useState, useSyncExternalStore } from 'react'
import { type JournalState, type JournalStore, openJournal } from './journal.ts'
import { client } from './session.ts'

const nothing: JournalState = { entries: [], loaded: false, refused: undefined }

/** The journal of a conversation while a component is shown. */
export function useJournal(id: string): JournalState {
  const [store, setStore] = useState<JournalStore>()
  useEffect(() => {
    const opened = openJournal(client, id)
    setStore(opened)
    return () => opened.close()
  }, [id])
  return useSyncExternalStore(store?.subscribe ?? never, store?.get ?? (() => nothing))
}

const never = () => () => {}
