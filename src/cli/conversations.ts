import { readFile, writeFile } from 'node:fs/promises'
import { Command, InvalidArgumentError } from 'commander'
import type { Settings } from '../config.ts'
import { Failure } from '../core/failure.ts'
import { parseJson } from '../core/json.ts'
import { parseBundle } from '../core/timeline/bundle.ts'
import { openStore } from '../wiring.ts'

type Store = Awaited<ReturnType<typeof openStore>>

/** What can be done with conversations from a terminal without running an agent. */
export function conversationCommands(settings: () => Settings): readonly Command[] {
  const withStore = async <T>(use: (store: Store) => Promise<T>): Promise<T> => {
    const store = await openStore(settings())
    try {
      return await use(store)
    } finally {
      await store.close()
    }
  }

  const list = new Command('list')
    .description('conversations, most recently active first')
    .option('--search <text>', 'only titles that contain this')
    .option('--limit <n>', 'at most this many', positiveInteger, 50)
    .action((options: { search?: string; limit: number }) => withStore((store) => printList(store, options)))

  const exported = new Command('export')
    .description('a whole conversation as one JSON file')
    .argument('<conversation>')
    .option('--out <file>', 'write here instead of to the terminal')
    .action((id: string, options: { out?: string }) =>
      withStore(async (store) => {
        const text = `${JSON.stringify(await store.exportBundle(id), null, 1)}\n`
        if (options.out === undefined) process.stdout.write(text)
        else await writeFile(options.out, text)
      }),
    )

  const imported = new Command('import')
    .description('a bundle, or a bare conv.timeline.v1 payload, as a new conversation')
    .argument('<file>')
    .option('--as <conversation>', 'under this name instead of its own')
    .action((file: string, options: { as?: string }) =>
      withStore(async (store) => {
        const bundle = parseBundle(await readJsonFile(file))
        const { conversationId } = await store.importBundle(bundle, options)
        console.log(`imported ${conversationId}: ${bundle.turn_logs.length} turns, ${bundle.timeline.blocks.length} visible blocks`)
      }),
    )

  const deleted = new Command('delete')
    .description('a conversation and everything only it refers to')
    .argument('<conversation>')
    .action((id: string) =>
      withStore(async (store) => {
        if (!(await store.delete(id)))
          throw new Failure('conversation.missing', `there is no conversation ${id}; daybook list shows what there is`)
        console.log(`deleted ${id}`)
      }),
    )

  return [list, exported, imported, deleted]
}

async function printList(store: Store, { search, limit }: { search?: string; limit: number }): Promise<void> {
  const { conversations, next } = await store.list({ limit, ...(search !== undefined && { search }) })
  if (conversations.length === 0) console.log('no conversations')
  for (const { conversationId, title, lastActivityAt } of conversations) {
    console.log(`${(lastActivityAt ?? '').padEnd(24)}  ${conversationId}  ${title ?? ''}`.trimEnd())
  }
  if (next !== undefined) console.log('… more: use --limit or --search')
}

async function readJsonFile(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Failure('bundle.invalid', `cannot read ${file}: ${error.code ?? error.message}`, { cause: error })
  })
  const value = parseJson(text)
  if (value === undefined) throw new Failure('bundle.invalid', `${file} is not JSON`)
  return value
}

function positiveInteger(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('must be a whole number above 0')
  return number
}
