import { createHash } from 'node:crypto'
import type { BlobRef, Block } from '../core/block/index.ts'
import { isObject, parseJson } from '../core/json.ts'
import { parseConversationKey } from '../core/scope.ts'
import { type Bundle, mapBlocks } from '../core/timeline/bundle.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { ExportedVersion, Workspaces } from '../ports/workspace.ts'
import { historyOf } from '../tools/artifacts/history.ts'
import { recordsOf } from './conversation/history.ts'

/**
 * Adds the files of all versions to the bundle of the conversation `key`. The bundle becomes a fork or an imported conversation, and every
 * kind of workspace can then read the versions in it. A version that was lost stays lost there. Throws if a version can not be reached at
 * the moment. Otherwise the new conversation would never have this version.
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
