import { blobRefsOf } from '../block/block.ts'
import { Failure } from '../failure.ts'
import type { Bundle } from './bundle.ts'
import { turnIdsOf } from './turns.ts'

/**
 * A bundle that ends with a turn, to be imported as a conversation of its own. The pool goes along whole: a SID means the same in both.
 * Without a turn, everything that is finished.
 */
export function forkBundle(bundle: Bundle, atTurn?: string): Bundle {
  const finished = bundle.turn_logs.filter(({ end_ts }) => end_ts !== null).map(({ turn_id }) => turn_id)
  const at = atTurn ?? finished.at(-1)
  const end = at === undefined ? -1 : finished.indexOf(at)
  if (at === undefined || end < 0) throw noSuchTurn(bundle.conversation_id, atTurn, finished.at(-1))
  const kept = new Set(finished.slice(0, end + 1))
  const { timeline } = bundle
  const last = timeline.blocks.findLastIndex(({ turn_id }) => kept.has(turn_id))
  if (!timeline.blocks.some(({ turn_id, type }) => turn_id === at && type !== 'conv.range.summary')) {
    throw new Failure('change.invalid', `${bundle.conversation_id}: turn ${at} has been folded into a summary; fork at a later turn`)
  }
  const blocks = timeline.blocks.slice(0, last + 1)
  const turn_logs = bundle.turn_logs.filter(({ turn_id }) => kept.has(turn_id))
  const needed = new Set(
    [...blocks, ...turn_logs.flatMap((log) => log.blocks), ...bundle.archive].flatMap(blobRefsOf).map(({ sha256 }) => sha256),
  )
  return {
    ...bundle,
    timeline: {
      ...timeline,
      blocks,
      turn_ids: turnIdsOf(blocks),
      ts: blocks.at(-1)?.ts ?? timeline.ts,
      last_activity_at: blocks.at(-1)?.ts ?? timeline.last_activity_at,
      forked_from: { conversation_id: bundle.conversation_id, turn_id: at },
    },
    turn_logs,
    blobs: Object.fromEntries(Object.entries(bundle.blobs).filter(([sha256]) => needed.has(sha256))),
  }
}

function noSuchTurn(conversationId: string, wanted: string | undefined, latest: string | undefined): Failure {
  const instead = `there is no finished turn ${wanted}: name one that is, the latest is ${latest}`
  const what = wanted === undefined || latest === undefined ? 'there is no finished turn to fork from yet' : instead
  return new Failure('change.invalid', `${conversationId}: ${what}`)
}
