import { createHash } from 'node:crypto'
import type { BlobRef, Block, Meta } from '../../core/block/index.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { parseResourceName, type ResourceName } from '../../core/path/resource-name.ts'
import { parseConversationKey } from '../../core/scope.ts'
import { type Bundle, mapBlocks } from '../../core/timeline/bundle.ts'
import type { Hosting, HostingHandles } from '../../ports/hosting.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { ExportedVersion, Workspaces } from '../../ports/workspace.ts'
import { historyOf } from '../../tools/artifacts/history.ts'
import { recordsOf } from '../conversation/history.ts'

/**
 * Adds the files of all versions to the bundle of the conversation `key`. The bundle becomes a fork or an imported conversation, and every
 * kind of workspace can then read the versions in it. A version that the original conversation has lost is not added. If a version can not
 * be reached at the moment, the function throws, because the new conversation would lack this version forever.
 */
export async function withVersions(bundle: Bundle, key: string, store: ConversationStore, workspaces: Workspaces): Promise<Bundle> {
  const turnIds = bundle.turn_logs.flatMap(({ turn_id, blocks }) => (blocks.some(isPublished) ? [turn_id] : []))
  if (turnIds.length === 0) return bundle
  const { scope, name } = parseConversationKey(key)
  const workspace = await workspaces.open(scope, name)
  const added = new Map<string, string>()
  const put = async (bytes: Uint8Array): Promise<BlobRef> => {
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    added.set(sha256, Buffer.from(bytes).toString('base64'))
    return { sha256, size: bytes.length }
  }
  const history = historyOf({ records: recordsOf(store, key), blobs: store.blobs })
  const versions = await workspace.exportVersions(turnIds, history, put)
  if (versions.size === 0) return bundle
  const blobs = new Map([...Object.entries(bundle.blobs), ...added].sort(([a], [b]) => (a < b ? -1 : 1)))
  return { ...mapBlocks(bundle, (block) => withVersion(block, versions)), blobs: Object.fromEntries(blobs) }
}

const isPublished = ({ type }: Block) => type === 'react.workspace.publish'

/**
 * The fields of a publish record that say where this system stores the version, such as a git commit. They are left out of the bundle,
 * because another system that imports the bundle can not use them.
 */
const storageFields: ReadonlySet<string> = new Set(['commit_sha', 'lineage_ref', 'version_ref'])

function withVersion(block: Block, versions: ReadonlyMap<string, ExportedVersion>): Block {
  const version = isPublished(block) ? versions.get(block.turn_id) : undefined
  const record = version && parseJson(block.text)
  if (!version || !isObject(record)) return block
  const kept = Object.fromEntries(Object.entries(record).filter(([field]) => !storageFields.has(field)))
  return { ...block, text: JSON.stringify({ ...kept, ...version.fields }), meta: { ...block.meta, keeps: version.keeps } }
}

/**
 * Hosts the files of a bundle again for the new conversation `key`. Puts the handles of the new files into `meta` of the blocks, in place
 * of the old handles (`key`, `rn` and `hosted_uri`). The old handles would stop working when the original conversation is deleted. If the
 * bundle does not contain the bytes of a file, the block of this file has no handles afterwards. Handles that were not made by Daybook are
 * kept.
 */
export async function withOwnFiles(bundle: Bundle, key: string, hosting: Hosting | undefined): Promise<Bundle> {
  const copies = new Map<string, HostingHandles>()
  if (hosting) for (const [rn, file] of hostedFiles(bundle)) copies.set(rn, await hostCopy(hosting, key, file))
  return mapBlocks(bundle, (block) => withHandles(block, copies))
}

interface HostedBlock {
  readonly name: ResourceName
  readonly block: Block
  readonly content: Uint8Array
}

/**
 * The files of the bundle that were hosted by Daybook, by resource name (`rn`). If several blocks have the same resource name, the last
 * block is used, because its bytes are the newest.
 */
function hostedFiles(bundle: Bundle): ReadonlyMap<string, HostedBlock> {
  const files = new Map<string, HostedBlock>()
  for (const block of [...bundle.turn_logs.flatMap(({ blocks }) => blocks), ...bundle.archive, ...bundle.timeline.blocks]) {
    const name = resourceNameOf(block)
    const ref = block.meta?.keeps?.[0] ?? block.blob
    const bytes = ref && Object.hasOwn(bundle.blobs, ref.sha256) ? bundle.blobs[ref.sha256] : undefined
    if (name && bytes !== undefined) files.set(block.meta?.rn ?? '', { name, block, content: Buffer.from(bytes, 'base64') })
  }
  return files
}

const resourceNameOf = ({ meta }: Block): ResourceName | undefined =>
  typeof meta?.rn === 'string' ? parseResourceName(meta.rn) : undefined

async function hostCopy(hosting: Hosting, key: string, { name, block, content }: HostedBlock): Promise<HostingHandles> {
  const { scope: owner, name: conversationId } = parseConversationKey(key)
  const { turnId, stage, physicalPath } = name
  const digest = parseJson(block.meta?.digest)
  const text = (field: string) => (isObject(digest) && typeof digest[field] === 'string' ? digest[field] : undefined)
  const description = text('description')
  const mime = text('mime') ?? block.mime ?? 'application/octet-stream'
  const file = { owner, conversationId, turnId, stage, physicalPath, mime, ts: block.ts, content }
  return hosting.host(description === undefined ? file : { ...file, description })
}

function withHandles(block: Block, copies: ReadonlyMap<string, HostingHandles>): Block {
  if (!resourceNameOf(block)) return block
  const { rn = '', key: _key, hosted_uri: _uri, ...meta } = block.meta ?? {}
  const copy = copies.get(rn)
  const handles: Meta = copy ? { key: copy.key, hosted_uri: copy.hosted_uri, rn: copy.rn } : {}
  return { ...block, meta: { ...meta, ...handles } }
}
