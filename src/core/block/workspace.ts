import { z } from 'zod'
import { omitUndefined } from '../json.ts'
import { checkoutPath, publishPath } from '../path/build.ts'
import type { BlobRef, Draft } from './block.ts'
import { oncePerBlockOfType, parseJsonAs } from './reader.ts'
import type { BlockOrigin } from './round.ts'

/** Records all checkouts of the turn so far. `checkedOutFrom` holds the logical paths of the versions that were copied into `files/`. */
export function checkoutBlock(
  { turnId, ts, callId, iteration }: BlockOrigin,
  checkout: { readonly mode: string; readonly checkedOutFrom: readonly string[] },
): Draft<'react.workspace.checkout'> {
  return {
    type: 'react.workspace.checkout',
    author: 'react',
    turn_id: turnId,
    ts,
    mime: 'application/json',
    path: checkoutPath(turnId),
    call_id: callId,
    text: JSON.stringify({ mode: checkout.mode, checked_out_from: checkout.checkedOutFrom }),
    meta: { tool_call_id: callId, iteration },
  }
}

const CheckoutPayload = z.looseObject({ mode: z.string(), checked_out_from: z.array(z.string()) })

export const readWorkspaceCheckout = oncePerBlockOfType(['react.workspace.checkout'], (block) => parseJsonAs(CheckoutPayload, block.text))

/** The workspace's record of what the turn published. `keeps` lists the bytes of changed files, which must live as long as this block. */
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

const PublishPayload = z.looseObject({ status: z.string(), turn_id: z.string() })

export const readWorkspacePublish = oncePerBlockOfType(['react.workspace.publish'], (block) => parseJsonAs(PublishPayload, block.text))
