/** A message that was not sent yet. */
export interface Draft {
  readonly text: string
  readonly files: readonly File[]
}

const emptyDraft: Draft = { text: '', files: [] }

let database: Promise<IDBDatabase> | undefined

function open(): Promise<IDBDatabase> {
  database ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('daybook', 1)
    request.onupgradeneeded = () => {
      request.result.createObjectStore('texts')
      request.result.createObjectStore('files')
    }
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  return database
}

async function run<T>(store: 'texts' | 'files', mode: IDBTransactionMode, action: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const request = action((await open()).transaction(store, mode).objectStore(store))
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

/** Reads the draft of a conversation. */
export async function readDraft(key: string): Promise<Draft> {
  const [text, files] = await Promise.all([
    run<string | undefined>('texts', 'readonly', (store) => store.get(key)),
    run<readonly File[] | undefined>('files', 'readonly', (store) => store.get(key)),
  ])
  return { text: text ?? emptyDraft.text, files: files ?? emptyDraft.files }
}

/** Stores the text of a draft. Files are stored separately, because they may be large. */
export async function writeDraftText(key: string, text: string): Promise<void> {
  if (text === '') await run('texts', 'readwrite', (store) => store.delete(key))
  else await run('texts', 'readwrite', (store) => store.put(text, key))
}

export async function writeDraftFiles(key: string, files: readonly File[]): Promise<void> {
  if (files.length === 0) await run('files', 'readwrite', (store) => store.delete(key))
  else await run('files', 'readwrite', (store) => store.put([...files], key))
}
