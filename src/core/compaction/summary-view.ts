import type { Block } from '../block/block.ts'
import { latestPlanPath, promptPath } from '../path/build.ts'
import { stepMarks } from '../render/blocks/plan.ts'
import { joinLines, oneLine } from '../render/text.ts'
import { type CompactionDigest, readCompactionDigest } from './digest.ts'

/**
 * The text that `react.read` returns for the path of a summary: the text of the summary and its whole digest. With this text the agent can
 * find everything that was compacted.
 */
export function summaryView(summary: Block): string {
  const digest = readCompactionDigest(summary)
  return joinLines(
    `[SUMMARY] ${summary.path ?? ''}`,
    summary.text ?? '',
    ...section(
      'turns',
      digest.turns.map(({ turn_id, ts, request }) => joined([promptPath(turn_id), ts, request])),
    ),
    ...section('artifacts', digest.artifacts.map(artifactLine)),
    ...section('read_files', digest.read_files),
    ...section('plans', digest.plans.flatMap(planLines)),
    ...section(
      'notes',
      digest.notes.map(({ source_path, text }) => joined([source_path, text])),
    ),
    ...section(
      'memsearches',
      digest.memsearches.map((entry) => JSON.stringify(entry)),
    ),
    ...section(
      'hidden',
      digest.hidden_blocks.map(({ path, replacement_text: text }) => joined([path, typeof text === 'string' ? oneLine(text, 120) : ''])),
    ),
    ...section('sources', digest.sources === '' ? [] : [digest.sources]),
    ...section('older', digest.older),
  )
}

function section(name: string, entries: readonly string[]): readonly string[] {
  return entries.length === 0 ? [] : [`${name}:`, ...entries.map((entry) => (entry.startsWith('  ') ? entry : `- ${entry}`))]
}

const joined = (fields: readonly (string | undefined)[]) => fields.filter((field) => field !== undefined && field !== '').join(' | ')

function artifactLine({ artifact_path, mime, kind, visibility, tool_id, tool_call_id }: CompactionDigest['artifacts'][number]): string {
  return joined([artifact_path, mime, kind, visibility, tool_id, tool_call_id])
}

function planLines({ plan_id, snapshot_path, state, last_ts, steps, status }: CompactionDigest['plans'][number]): readonly string[] {
  return [
    joined([latestPlanPath(plan_id), snapshot_path, state, last_ts]),
    ...steps.map((step, index) => `  ${stepMarks[status[String(index + 1)] ?? 'pending']} ${index + 1}) ${step}`),
  ]
}
