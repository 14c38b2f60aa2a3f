import { z } from 'zod'
import type { BlobRef } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import {
  conversationPrefix,
  formatResourceName,
  parseResourceName,
  parseStorageKey,
  type ResourceName,
  storageKey,
  turnPrefix,
} from '../../core/path/resource-name.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { Scope } from '../../core/scope.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { HostedFile, Hosting, HostingHandles, NewFile } from '../../ports/hosting.ts'
import type { ObjectStore } from './objects.ts'

/**
 * The object that is stored under the key of a file. It contains the name of the file (`rn`), so that Daybook detects an object that is
 * stored under a wrong key.
 */
const Pointer = z.object({
  version: z.literal(1),
  rn: z.string(),
  mime: z.string(),
  description: z.string().optional(),
  ts: z.string(),
  blob: z.object({ sha256: z.string(), size: z.number() }),
})
type Pointer = z.infer<typeof Pointer>

/**
 * Hosts files. Their bytes are in the blob store. Under the key of each file is a small object that refers to the blob. Hosting a file
 * again replaces this object.
 */
export function createHosting({ objects, blobs }: { readonly objects: ObjectStore; readonly blobs: BlobStore }): Hosting {
  function parseHandle(handle: string): ResourceName | undefined {
    const key = objects.keyOf(handle)
    return parseResourceName(handle) ?? parseStorageKey(handle) ?? (key === undefined ? undefined : parseStorageKey(key))
  }

  return {
    async host(file) {
      const name = nameOf(file)
      const rn = formatResourceName(name)
      const key = storageKey(name)
      const blob = await storeContent(file.content, blobs)
      const { mime, description, ts } = file
      const pointer: Pointer = { version: 1, rn, mime, ...(description === undefined ? {} : { description }), ts, blob }
      await objects.put(key, new TextEncoder().encode(JSON.stringify(pointer)))
      return { key, hosted_uri: objects.uriOf(key), rn, blob }
    },

    async resolve(handle, viewer) {
      const name = parseHandle(handle)
      if (!name || !isOwner(name.owner, viewer)) return undefined
      const key = storageKey(name)
      const bytes = await objects.get(key)
      if (!bytes) return undefined
      const pointer = parsePointer(bytes)
      const pointed = parseResourceName(pointer.rn)
      if (!pointed || !isOwner(pointed.owner, viewer) || pointer.rn !== formatResourceName(name)) return undefined
      return hostedFileOf(pointed, pointer, { key, hosted_uri: objects.uriOf(key), rn: pointer.rn, blob: pointer.blob })
    },

    read: (file) => blobs.get(file.blob.sha256),
    stream: (file, range) => blobs.stream(file.blob, range),

    async remove(owner, conversationId, turnId) {
      for (const stage of ['file', 'attachment'] as const) {
        const name = { owner, conversationId, stage }
        checkNames([owner.tenant, owner.project, owner.user, conversationId, turnId ?? 'all'])
        await objects.deleteTree(turnId === undefined ? conversationPrefix(name) : turnPrefix({ ...name, turnId }))
      }
    },

    async count(owner, conversationId) {
      let count = 0
      for (const stage of ['file', 'attachment'] as const)
        for await (const _key of objects.list(conversationPrefix({ owner, conversationId, stage }))) count++
      return count
    },
  }
}

function nameOf({ owner, conversationId, turnId, stage, physicalPath }: NewFile): ResourceName {
  const reason = unsafeReason(physicalPath)
  if (reason !== undefined) {
    const details = { reason: 'unsafe_path', path: physicalPath }
    throw new Failure('file.unsafe', `the path ${JSON.stringify(physicalPath)} ${reason}: it can not be hosted`, { details })
  }
  checkNames([owner.tenant, owner.project, owner.user, conversationId, turnId])
  return { owner, conversationId, turnId, stage, physicalPath }
}

/**
 * Throws if a name is empty, because a key with an empty segment can not be parsed. Also throws if a name has half a surrogate pair. UTF-8
 * can not encode it, so two different names would get the same key.
 */
function checkNames(names: readonly string[]): void {
  if (names.some((name) => name === '' || !name.isWellFormed())) {
    throw new Failure('hosting.failed', 'tenant, project, user, conversation and turn must each have a name, in well-formed Unicode')
  }
}

async function storeContent(content: NewFile['content'], blobs: BlobStore): Promise<BlobRef> {
  if (content instanceof Uint8Array) return blobs.put(content)
  const { sha256, size } = content
  if (!(await blobs.has(sha256)))
    throw new Failure('blob.missing', `there is no blob ${sha256} to host: put it first`, { details: { sha256 } })
  return { sha256, size }
}

const isOwner = (owner: Scope, viewer: Scope) =>
  owner.tenant === viewer.tenant && owner.project === viewer.project && owner.user === viewer.user

function parsePointer(bytes: Uint8Array): Pointer {
  try {
    return Pointer.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
  } catch (error) {
    throw new Failure('hosting.failed', 'the stored record of this file is damaged: host the file again', { cause: error })
  }
}

function hostedFileOf(name: ResourceName, { mime, description, ts }: Pointer, handles: HostingHandles): HostedFile {
  const { owner, conversationId, turnId, physicalPath } = name
  const filename = physicalPath.slice(physicalPath.lastIndexOf('/') + 1)
  return {
    ...handles,
    owner,
    conversationId,
    turnId,
    physicalPath,
    filename,
    mime,
    ...(description === undefined ? {} : { description }),
    ts,
  }
}
