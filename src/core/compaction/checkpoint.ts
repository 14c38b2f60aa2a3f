import { type Block, type Draft, isHidden } from '../block/block.ts'
import { readPlan } from '../block/plan.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { cutText } from '../expiry/shorten.ts'
import { midTurnPath, turnIndexPath } from '../path/build.ts'
import { oneLine } from '../render/text.ts'
import { callReport } from './ledger.ts'
import { lastLinesWithin } from './within.ts'

const CHECKPOINT = 'react.current_turn.compaction_checkpoint'
const LARGE_INPUT = 12_000
const NARRATIVE_CHARS = 12_000
const FOLDED_CHARS = 6000

const loopTypes: ReadonlySet<string> = new Set([
  'react.notes',
  'react.thinking',
  'react.decision.raw',
  'react.tool.code',
  'react.tool.call',
  'react.tool.result',
  'react.notice',
  'react.plan.ack',
  'react.completion',
  CHECKPOINT,
])

/** Which blocks of a running turn's beginning fold into a checkpoint: what the loop did, and input too large to stay. */
export function foldedByCheckpoint(prefix: readonly Block[], tokens: Estimator): readonly Block[] {
  const newestPlans = new Map(prefix.flatMap((block) => (readPlan(block) ? [[readPlan(block)?.plan_id, block] as const] : [])))
  return prefix.filter((block) => {
    if (block.meta?.hidden_reason === 'compaction') return false // in an earlier checkpoint, and in the ledger of this one
    if (block.type === 'turn.header' || block.type === 'react.note') return false // notes are memory, and short
    if (loopTypes.has(block.type)) return true
    if (block.type.startsWith('user.')) return tokens.content(block) >= LARGE_INPUT
    const plan = readPlan(block)
    if (plan) return newestPlans.get(plan.plan_id) !== block
    return block.path?.startsWith('fi:') === true || block.path?.startsWith('so:') === true
  })
}

/** How many checkpoints the turn has had. */
export const checkpointsIn = (blocks: readonly Block[]): number => blocks.filter(({ type }) => type === CHECKPOINT).length

/**
 * What stands for the beginning of a running turn. The model's words may be missing; what was called, with what, and where the
 * results are, never is. `prefix` holds every block before the cut, those of earlier condensations too.
 */
export function checkpoint(
  prefix: readonly Block[],
  input: {
    readonly turnId: string
    readonly now: string
    readonly text: string | undefined
    readonly folded: readonly Block[]
    readonly ledgerChars: number
  },
  tokens: Estimator,
): Draft<typeof CHECKPOINT> {
  const { turnId } = input
  const number = checkpointsIn(prefix) + 1
  const narrative = input.text?.trim()
    ? cutText(input.text.trim(), NARRATIVE_CHARS)
    : 'none: the summariser gave no text; rely on the ledger'
  const gone = new Set([...prefix.filter(isHidden), ...input.folded])
  const inputs = prefix.filter((block) => gone.has(block) && block.type.startsWith('user.'))
  const ledger = callReport(prefix, turnId, tokens, input.ledgerChars)
  return {
    type: CHECKPOINT,
    author: 'system',
    turn_id: turnId,
    ts: input.now,
    mime: 'text/markdown',
    path: midTurnPath(turnId, number),
    text: [
      `[MID-TURN COMPACTION ${number}]`,
      `turn_id: ${turnId}`,
      `position: the steps of this turn before here were folded; the steps after it are whole`,
      'use: as what you have done so far in this turn; do not repeat it',
      `recovery: react.read the paths below; react.read(["${turnIndexPath(turnId)}"]) lists everything of this turn`,
      'semantic_progress:',
      narrative,
      ...foldedInputLines(inputs),
      'engineering_ledger:',
      ...(ledger.length > 0 ? ledger : ['- no calls']),
      `[/MID-TURN COMPACTION ${number}]`,
    ].join('\n'),
    meta: { checkpoint: number },
  }
}

/** The newest of them; the turn index lists all. */
function foldedInputLines(inputs: readonly Block[]): readonly string[] {
  const paths = new Map(inputs.flatMap((block) => (block.path === undefined ? [] : [[block.path, block] as const])))
  const all = [...paths].map(([path, { text }]) => `- ${path}${text ? ` | ${oneLine(text, 180)}` : ''}`)
  const shown = lastLinesWithin(all, FOLDED_CHARS)
  if (all.length === 0) return []
  return ['folded_input:', ...(all.length > shown.length ? [`- ... ${all.length - shown.length} earlier`] : []), ...shown]
}
