import {
  attachmentBlocks,
  type Block,
  completionBlock,
  type Draft,
  internalNoteBlock,
  planBlock,
  rangeSummaryBlock,
  systemMessageBlock,
  toolResultBlock,
} from '../../src/core/block/index.ts'
import { assignIds, blocksAtPath, blocksOf, type Timeline } from '../../src/core/timeline/timeline.ts'
import { minute } from '../../src/testing/blocks.ts'
import { timelineOf, turnStart, withChanges, withDrafts } from '../support/prompts/timelines.ts'
import { ask, at, blob, budget, found, ranking, type Situation, search, visitPlan, written } from './scenes.ts'

const hide = (timeline: Timeline, path: string, replacement_text: string): Timeline =>
  withChanges(timeline, {
    type: 'blocks.hidden',
    ids: blocksAtPath(timeline, path).map(({ id }) => id),
    replacement_text,
    reason: 'hide',
  })

export const hidden = (): Situation => {
  const seen = timelineOf([...turnStart('turn_1', 0, 'top 3 places to eat?'), ...search(at('turn_1', 0, 'c0'))])
  const origin = at('turn_1', 1, 'c1')
  const asked = withDrafts(
    seen,
    ask(origin, 'react.hide', { path: 'tc:turn_1.c0.result', replacement_text: 'three guides, already ranked' }),
  )
  return {
    timeline: withDrafts(hide(asked, 'tc:turn_1.c0.result', 'three guides, already ranked.'), [
      toolResultBlock(origin, {
        mime: 'application/json',
        text: JSON.stringify({ path: 'tc:turn_1.c0.result', status: 'ok', blocks_hidden: 2, tokens_hidden: 140 }),
      }),
    ]),
    turnId: 'turn_1',
  }
}

/** A timeline after the cache has expired. Each path of an old turn is replaced by one line. A result of a recent turn is shortened. */
export const pruned = (): Situation => {
  const before = timelineOf([
    ...turnStart('turn_1', 0, 'top 3 places to eat?'),
    ...attachmentBlocks('turn_1', minute(0), {
      name: 'menu.pdf',
      mime: 'application/pdf',
      size_bytes: 10,
      summary: 'a menu',
      blob: blob(10),
    }),
    ...search(at('turn_1', 0, 'a0')),
    ...written(at('turn_1', 1, 'a1'), 'ranking.md', ranking),
    completionBlock('turn_1', minute(3), { text: 'Katarina, Scarpati and the Miner’s.', sourcesUsed: [1, 2] }),
    ...turnStart('turn_2', 4, 'is Katarina open on Mondays?'),
    ...search(at('turn_2', 0, 'b0')),
    completionBlock('turn_2', minute(5), { text: 'No: Tuesday to Saturday.' }),
    ...turnStart('turn_3', 60, 'and Scarpati?'),
  ])
  const text = ({ type, text: own = '', path = '' }: Block): string => {
    if (type === 'react.tool.call') return own
    if (own.includes('artifact_path')) return own
    if (path.startsWith('tc:')) return JSON.stringify({ tool_id: 'web_tools.web_search', result: found.slice(0, 2) })
    return path.startsWith('fi:') ? `[TRUNCATED FILE] path=${path}` : `[TRUNCATED] ${own.slice(0, 60)}`
  }
  const fold = (timeline: Timeline, path: string, scope: 'old_turn' | 'recent'): Timeline => {
    const group = blocksAtPath(timeline, path)
    return withChanges(timeline, {
      type: 'blocks.hidden',
      ids: group.map(({ id }) => id),
      replacement_text: text(group.at(-1) as Block),
      reason: scope === 'recent' ? 'cache_ttl_light' : 'cache_ttl',
      scope,
    })
  }
  const old = new Set(blocksOf(before).flatMap(({ turn_id, path }) => (turn_id === 'turn_1' && path !== undefined ? [path] : [])))
  const folded = [...old].reduce((timeline, path) => fold(timeline, path, 'old_turn'), before)
  return {
    timeline: withDrafts(fold(folded, 'tc:turn_2.b0.result', 'recent'), [
      systemMessageBlock('turn_3', minute(60), {
        key: 'cache_pruned',
        kind: 'cache_ttl_pruned',
        text: 'The session was idle for more than 300s, so older context was shortened. Everything still exists under its path.',
      }),
    ]),
    turnId: 'turn_3',
  }
}

export const compacted = (): Situation => {
  const full = timelineOf([
    ...turnStart('turn_1', 0, 'top 3 places to eat?'),
    ...written(at('turn_1', 0, 'a0'), 'ranking.md', ranking),
    completionBlock('turn_1', minute(3), { text: 'Katarina, Scarpati and the Miner’s.' }),
    ...turnStart('turn_2', 4, 'make it a top 5'),
    ...search(at('turn_2', 0, 'b0')),
  ])
  const last = blocksOf(full).find(({ path }) => path === 'ar:turn_1.assistant.completion') as Block
  const noteText = '[P] prefers small places\n[D] Wanderlog and TheFork are the primary sources'
  const blocks = assignIds(full, [
    rangeSummaryBlock('turn_2', minute(4), {
      text: 'The user asked for three places to eat in Wuppertal and got a ranked list.\n\n[INTERNAL MEMORY DIGEST]\nActive conversation preferences:\n- prefers small places',
      coveredTurnIds: ['turn_1'],
      startTs: minute(0),
      endTs: minute(3),
      firstMessageTs: minute(0),
      digest: {
        artifacts: [{ artifact_path: 'fi:turn_1.files/ranking.md', mime: 'text/markdown', kind: 'display', tool_id: 'react.write' }],
      },
    }),
    {
      ...internalNoteBlock(at('turn_2', 0, 'a9'), 'ar:turn_2.react.note.preserved.1', noteText),
      type: 'react.note.preserved',
      meta: { source_path: 'fi:turn_1.files/memory.md', preserved_by_compaction: true, note_tags: ['P', 'D'] },
    },
    planBlock('turn_2', minute(4), visitPlan),
  ])
  return {
    timeline: withChanges(full, { type: 'range.compacted', after_id: last.id, blocks, covered: ['turn_1'] }),
    turnId: 'turn_2',
    announce: { budget: budget(1), plans: [visitPlan] },
  }
}

export const midTurnCompacted = (): Situation => {
  const full = timelineOf([
    ...turnStart('turn_1', 0, 'top 3 places to eat, as a report'),
    ...search(at('turn_1', 0, 'c0')),
    ...written(at('turn_1', 1, 'c1'), 'ranking.md', ranking),
    ...search(at('turn_1', 2, 'c2')),
  ])
  const folded = blocksOf(full).filter(({ meta }) => meta?.iteration === 0 || meta?.iteration === 1)
  const checkpoint: Draft = {
    type: 'react.current_turn.compaction_checkpoint',
    author: 'system',
    turn_id: 'turn_1',
    ts: minute(3),
    mime: 'text/markdown',
    path: 'ar:turn_1.react.mid_turn.compaction.1',
    text: [
      '[MID-TURN COMPACTION 1]',
      'turn_id: turn_1',
      'use: the first rounds of this turn were folded; this says what they did',
      'recovery: react.read the paths below',
      'semantic_progress:',
      'done: three guides searched, ranking drafted',
      'next: check opening hours',
      'engineering_ledger:',
      '- tool_call_id: c0 | tool: web_tools.web_search | result: tc:turn_1.c0.result',
      '- tool_call_id: c1 | tool: react.write | files: fi:turn_1.files/ranking.md',
      '[/MID-TURN COMPACTION 1]',
    ].join('\n'),
  }
  return {
    timeline: withChanges(
      full,
      { type: 'blocks.hidden', ids: folded.map(({ id }) => id), replacement_text: '', reason: 'compaction' },
      { type: 'blocks.inserted', after_id: (folded.at(-1) as Block).id, blocks: assignIds(full, [checkpoint]) },
    ),
    turnId: 'turn_1',
  }
}
