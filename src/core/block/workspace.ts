import { z } from 'zod'
import { defined } from '../json.ts'
import { checkoutPath, publishPath } from '../path/build.ts'
import type { BlobRef, Draft } from './envelope.ts'
import { oncePerBlockOf, parseAs } from './once.ts'
import type { Place } from './tool.ts'

/** From where `files/` of the turn comes: everything checked out so far, as logical paths. */
export function workspaceCheckout(
  { turnId, ts, callId, iteration }: Place,
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

const CheckedOut = z.looseObject({ mode: z.string(), checked_out_from: z.array(z.string()) })

export const readWorkspaceCheckout = oncePerBlockOf(['react.workspace.checkout'], (block) => parseAs(CheckedOut, block.text))

/** What a turn left of its workspace, in the words of the workspace that keeps it; with it live the bytes of what changed. */
export function workspacePublish(
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
    meta: defined({ keeps }),
  }
}

const Published = z.looseObject({ status: z.string(), turn_id: z.string() })

export const readWorkspacePublish = oncePerBlockOf(['react.workspace.publish'], (block) => parseAs(Published, block.text))
