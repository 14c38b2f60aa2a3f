import { z } from 'zod'
import { omitUndefined } from '../json.ts'
import { checkoutPath, publishPath } from '../path/build.ts'
import type { BlobRef, Draft } from './block.ts'
import { oncePerBlockOfType, parseJsonAs } from './reader.ts'
import type { BlockOrigin, Notice } from './round.ts'

/**
 * The block that records a checkout. `checkedOut` has the logical paths that this call checked out. `checkedOutFrom` has the logical paths
 * from which the files that are now in `files/` were checked out, by this call or by earlier calls of the turn.
 */
export function checkoutBlock(
  { turnId, ts, callId, iteration }: BlockOrigin,
  checkout: { readonly mode: string; readonly checkedOut: readonly string[]; readonly checkedOutFrom: readonly string[] },
): Draft<'react.workspace.checkout'> {
  return {
    type: 'react.workspace.checkout',
    author: 'react',
    turn_id: turnId,
    ts,
    mime: 'application/json',
    path: checkoutPath(turnId),
    call_id: callId,
    text: JSON.stringify({ mode: checkout.mode, checked_out: checkout.checkedOut, checked_out_from: checkout.checkedOutFrom }),
    meta: { tool_call_id: callId, iteration },
  }
}

const CheckoutPayload = z.looseObject({
  mode: z.string(),
  checked_out_from: z.array(z.string()),
  checked_out: z.array(z.string()).optional(),
})

export const readWorkspaceCheckout = oncePerBlockOfType(['react.workspace.checkout'], (block) => parseJsonAs(CheckoutPayload, block.text))

/**
 * The block that records which version the turn published. `keeps` refers to the bytes of changed files, which must be stored as long as
 * this block.
 */
export function publishBlock(
  turnId: string,
  ts: string,
  published: { readonly record: object; readonly keeps?: readonly BlobRef[] },
): Draft<'react.workspace.publish'> {
  const keeps = published.keeps?.length ? published.keeps : undefined
  return {
    type: 'react.workspace.publish',
    author: 'system',
    turn_id: turnId,
    ts,
    mime: 'application/json',
    path: publishPath(turnId),
    text: JSON.stringify(published.record),
    meta: omitUndefined({ keeps }),
  }
}

const Scopes = z
  .array(z.object({ name: z.string(), files: z.number() }))
  .optional()
  .catch(undefined)

const LeftOut = z
  .array(z.object({ name: z.string(), files: z.number(), reason: z.string().optional().catch(undefined) }))
  .optional()
  .catch(undefined)

const PublishPayload = z.looseObject({
  status: z.string(),
  turn_id: z.string(),
  message: z.string().optional().catch(undefined),
  scopes: Scopes,
  left_out: LeftOut,
  left_out_more: z.number().optional().catch(undefined),
  parent_unavailable: z.string().optional().catch(undefined),
})

export const readWorkspacePublish = oncePerBlockOfType(['react.workspace.publish'], (block) => parseJsonAs(PublishPayload, block.text))

/**
 * Files of a turn that are missing in the version which the turn published. `name` is the path of a file, or of a folder with several such
 * files.
 */
interface LeftOutFiles {
  readonly name: string
  readonly files: number
  /** Why the files can not be stored, such as `symlink_blocked`. Undefined when they were left out because of their names. */
  readonly reason?: string | undefined
}

interface PublishFacts {
  readonly status: string
  readonly turn_id: string
  readonly message?: string | undefined
  readonly left_out?: readonly LeftOutFiles[] | undefined
  readonly left_out_more?: number | undefined
  readonly parent_unavailable?: string | undefined
}

/** A notice that the publish failed, or that the version lacks files. Undefined when the version has all files. */
export function publishNotice({ status, turn_id, message, parent_unavailable, ...leftOut }: PublishFacts): Notice | undefined {
  if (status === 'failed') {
    const reason = message === undefined ? '' : ` Reason: ${message}`
    return {
      code: 'workspace_publish_failed',
      message: `The files of ${turn_id} were not saved as a version, so later turns can not check them out.${reason}`,
    }
  }
  if (parent_unavailable !== undefined) {
    return {
      code: 'workspace_version_unavailable',
      message: `The version of ${parent_unavailable} can not be reached, so the saved version of ${turn_id} has only the files of ${turn_id}.`,
    }
  }
  return leftOutNotice(turn_id, leftOut)
}

function leftOutNotice(turnId: string, { left_out = [], left_out_more = 0 }: Pick<PublishFacts, 'left_out' | 'left_out_more'>) {
  if (left_out.length === 0) return undefined
  const describe = ({ name, files, reason }: LeftOutFiles) =>
    `${name} (${files} ${files === 1 ? 'file' : 'files'}${reason === undefined ? '' : `, ${reasonTexts.get(reason) ?? reason}`})`
  const namesOf = (list: readonly LeftOutFiles[]) => list.map(describe).join(', ')
  const [ignored, unsaved] = [left_out.filter(({ reason }) => reason === undefined), left_out.filter(({ reason }) => reason !== undefined)]
  const sentences = [
    ...(ignored.length > 0 ? [`The saved version of ${turnId} lacks files that programs can make again: ${namesOf(ignored)}`] : []),
    ...(unsaved.length > 0
      ? [
          `The saved version of ${turnId} lacks files that can not be saved: ${namesOf(unsaved)}. To keep one, copy its content to a new file`,
        ]
      : []),
    ...(left_out_more > 0 ? [`${left_out_more} more are not named here`] : []),
  ]
  return { code: 'workspace_files_left_out', message: sentences.join('. ') }
}

const reasonTexts: ReadonlyMap<string, string> = new Map([
  ['symlink_blocked', 'symbolic link'],
  ['hard_link_blocked', 'hard link'],
  ['not_a_file', 'not a regular file'],
  ['unsafe_path', 'name not allowed'],
  ['no_access', 'no permission to read'],
])
