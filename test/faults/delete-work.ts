import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createDiskFiles } from '../../src/adapters/files/disk.ts'
import { countFiles } from '../../src/adapters/files/remove-folder.ts'
import { createFileObjects } from '../../src/adapters/hosting/file-objects.ts'
import { createHosting } from '../../src/adapters/hosting/hosting.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'
import { createCustomWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { conversationKey } from '../../src/core/scope.ts'
import { type Reply, reply, scriptedModel } from '../../src/testing/scripted-model.ts'

/** A text that occurs in all data of the conversation `doomed`, and nowhere else. */
export const marker = 'Zimtstern-7304'
const shared = `The same in both conversations. ${'ab'.repeat(6_000)}`

/** Opens an agent whose data is in a folder: database, blobs, workspaces and hosted files. */
export async function openAgentIn(folder: string, replies: readonly Reply[] = []) {
  const clock = createSystemClock()
  const blobs = createFileBlobs({ folder: join(folder, 'blobs') })
  const store = await createSqliteStore({ file: join(folder, 'daybook.db'), blobs, clock })
  const workspaces = createCustomWorkspaces({
    blobs,
    openFiles: (name) => createDiskFiles({ folder: join(folder, 'workspaces', name) }),
    removeFiles: (name) => rm(join(folder, 'workspaces', name), { recursive: true, force: true }),
    countFiles: (name) => countFiles(join(folder, 'workspaces', name)),
  })
  const hosting = createHosting({ objects: createFileObjects({ files: createDiskFiles({ folder: join(folder, 'hosted') }) }), blobs })
  const agent = createAgentFrom({ model: scriptedModel(replies), store, clock, workspaces, hosting })
  const close = async () => {
    await agent.close()
    await store.close()
  }
  return { agent, store, close }
}

const writes = (text: string, name: string) => [
  reply.call('react.write', { path: `files/${name}.md`, channel: 'canvas', content: `${text}\n`, kind: 'file' }),
  reply.call('react.write', { path: `outputs/${name}.txt`, channel: 'canvas', content: shared, kind: 'file' }),
  reply.answer(`Done: ${text}`),
]

/** The user whose two conversations `makeOwners` makes. */
export const doomedOwner = { tenant: 'acme', project: 'web', user: 'ann' }

/** Makes the conversations `doomed` and `kept`. Both have a title, a message, an attachment, large texts, and hosted files. */
export const makeConversations = (folder: string): Promise<void> =>
  fill(folder, [
    ['doomed', marker],
    ['kept', 'kept'],
  ])

/** Makes such conversations of two users. */
export const makeOwners = (folder: string): Promise<void> =>
  fill(folder, [
    [conversationKey(doomedOwner, 'first'), marker],
    [conversationKey(doomedOwner, 'second'), `${marker} again`],
    [conversationKey({ ...doomedOwner, user: 'bob' }, 'third'), 'kept'],
  ])

async function fill(folder: string, conversations: readonly (readonly [id: string, text: string])[]): Promise<void> {
  const { agent, close } = await openAgentIn(
    folder,
    conversations.flatMap(([, text]) => writes(text, text.replaceAll(' ', '-'))),
  )
  for (const [id, text] of conversations) {
    await agent.archive.create(id, `About ${text}`)
    const attachments = [{ name: `${text}.txt`, content: `${text} in a file` }]
    await agent.run(id, `${text} ${`${text} `.repeat(2_000)}`, { attachments }).result
    await agent.archive.rename(id, `${text} renamed`)
  }
  await close()
}

/** The names of the files below a folder whose name or content contains the text. */
export function filesWith(folder: string, text: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isFile: entry.isFile() }))
    .filter(({ path, isFile }) => path.includes(text) || (isFile && readFileSync(path).includes(text)))
    .map(({ path }) => path.slice(folder.length + 1))
}

/** Runs `delete-child.ts`, and returns what it has printed. `codeCache` is a folder for compiled code. */
export async function deleteInChild(args: readonly string[], codeCache: string): Promise<string> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'delete-child.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: codeCache },
  })
  let printed = ''
  child.stdout.on('data', (data: Buffer) => {
    printed += data
  })
  await new Promise((resolve) => child.once('close', resolve))
  return printed
}
