import type { BlockOrigin } from '../../core/block/index.ts'
import { parseConversationKey } from '../../core/scope.ts'
import { type DeliveredOutcome, deliver } from '../../tools/artifacts/deliver.ts'
import type { PoolNumbers } from '../../tools/source-numbers.ts'
import type { Outcome } from '../../tools/tool.ts'
import type { Turn } from './turn.ts'

/**
 * Stores the files of an outcome in the workspace of the turn, and hosts those that are for users. `numbers` are the SIDs of the sources that
 * came with the files.
 */
export function deliverFiles(
  { agent, conversation, workspace }: Turn,
  origin: BlockOrigin,
  toolId: string,
  outcome: Outcome,
  { exec, numbers }: { readonly exec: boolean; readonly numbers: PoolNumbers | undefined },
): Promise<DeliveredOutcome> {
  const { scope, name } = parseConversationKey(conversation.conversationId)
  return deliver(origin, toolId, outcome, {
    blobs: conversation.blobs,
    workspace: workspace.open,
    hosting: agent.hosting,
    scope,
    conversationId: name,
    timeline: conversation.ledger.timeline,
    eligibleMimes: agent.settings.sources.eligibleMimes,
    onProblem: agent.onProblem,
    exec,
    numbers,
  })
}
