import type { Announce } from '../../src/core/announce/announce.ts'
import {
  artifactContent,
  artifactDigest,
  assistantCompletion,
  attachmentBlocks,
  type Block,
  type Draft,
  decisionNotes,
  internalNote,
  notice,
  type Plan,
  planAck,
  planSnapshot,
  rangeSummary,
  stage,
  suggestedFollowups,
  systemMessage,
  thinking,
  toolCode,
  toolResult,
  turnFeedback,
  userEvent,
} from '../../src/core/block/index.ts'
import { emptyPool, type SourcePool } from '../../src/core/sources/merge.ts'
import { enter } from '../../src/core/timeline/enter.ts'
import { blocksAtPath, blocksOf, type Timeline } from '../../src/core/timeline/timeline.ts'
import { minute } from '../../src/testing/blocks.ts'
import { changed, opening, timelineOf, withDrafts } from '../support/timelines.ts'
import { ask, at, blob, budget, found, pool, ranking, search, written } from './scenes.ts'

/** A moment of a conversation, just before the model is asked. */
export interface Situation {
  readonly timeline: Timeline
  readonly turnId: string
  readonly pool?: SourcePool
  readonly announce?: Announce
}

const firstTurn = (): Situation => ({
  timeline: timelineOf(opening('turn_1', 0, 'could you find top 3 places to eat here in wuppertal')),
  turnId: 'turn_1',
  pool: emptyPool,
  announce: {
    budget: budget(0),
    plans: [],
    now: { utc: '2026-01-01T00:00:42.000Z', timezone: 'Europe/Berlin' },
    workspace: { implementation: 'custom', currentTurnRoot: 'turn_1', turnRoots: ['turn_1'], editable: [] },
    constraints: ['answers are in the language of the user'],
  },
})

const toolRounds = (): Situation => {
  const exec = at('turn_1', 2, 'c2')
  const produced = (name: string, mime: string, size_bytes: number) => ({
    artifact_path: `fi:turn_1.outputs/${name}`,
    physical_path: `turn_1/outputs/${name}`,
    mime,
    kind: 'file' as const,
    visibility: 'external' as const,
    size_bytes,
  })
  const sheet = produced('scores.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 8_412)
  const report = produced('scores.pdf', 'application/pdf', 40_120)
  const chart = produced('scores.png', 'image/png', 22_900)
  return {
    timeline: timelineOf([
      ...opening('turn_1', 0, 'could you find top 3 places to eat here in wuppertal, with a score sheet'),
      thinking(at('turn_1', 0, 'c0'), 'The user wants a list.'),
      ...search(at('turn_1', 0, 'c0')),
      ...written(at('turn_1', 1, 'c1'), 'ranking.md', ranking),
      decisionNotes(exec, 'Now the sheet.'),
      toolCode(exec, "import openpyxl\nbook = openpyxl.Workbook()\nbook.save('turn_1/outputs/scores.xlsx')"),
      ...ask(exec, 'exec_tools.execute_code_python', { contract: ['scores.xlsx', 'scores.pdf', 'scores.png'] }),
      toolResult(exec, {
        mime: 'text/markdown',
        text: 'Succeeded:\n- turn_1/outputs/scores.xlsx\n- turn_1/outputs/scores.pdf\n- turn_1/outputs/scores.png',
      }),
      artifactDigest(exec, sheet),
      artifactContent(exec, { path: sheet.artifact_path, mime: sheet.mime, digest: sheet }),
      artifactDigest(exec, report),
      artifactContent(exec, { path: report.artifact_path, mime: report.mime, blob: blob(40_120), digest: report }),
      artifactDigest(exec, chart),
      artifactContent(exec, { path: chart.artifact_path, mime: chart.mime, blob: blob(22_900), digest: chart }),
    ]),
    turnId: 'turn_1',
    pool,
    announce: { budget: budget(3), plans: [] },
  }
}

const attachments = (): Situation => ({
  timeline: timelineOf([
    ...opening('turn_1', 0, 'what does the menu cost for two?'),
    ...attachmentBlocks('turn_1', minute(0), {
      name: 'menu.pdf',
      mime: 'application/pdf',
      size_bytes: 137_956,
      summary: '2-page menu, prices and address (Wuppertal)',
      blob: blob(137_956),
      key: 'never shown',
    }),
    ...attachmentBlocks('turn_1', minute(0), { name: 'table.png', mime: 'image/png', size_bytes: 9_000, blob: blob(9_000) }),
    ...attachmentBlocks('turn_1', minute(0), {
      name: 'budget.xlsx',
      mime: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      size_bytes: 4_096,
    }),
    stage('gate', 'turn_1', minute(0), '[STAGE: GATE OUTPUT]\ntitle: Price of a menu for two'),
  ]),
  turnId: 'turn_1',
})

const hide = (timeline: Timeline, path: string, replacement_text: string): Timeline =>
  changed(timeline, {
    type: 'blocks.hidden',
    ids: blocksAtPath(timeline, path).map(({ id }) => id),
    replacement_text,
    reason: 'hide',
  })

const hidden = (): Situation => {
  const seen = timelineOf([...opening('turn_1', 0, 'top 3 places to eat?'), ...search(at('turn_1', 0, 'c0'))])
  const place = at('turn_1', 1, 'c1')
  const asked = withDrafts(
    seen,
    ask(place, 'react.hide', { path: 'tc:turn_1.c0.result', replacement_text: 'three guides, already ranked' }),
  )
  return {
    timeline: withDrafts(hide(asked, 'tc:turn_1.c0.result', 'three guides, already ranked.'), [
      toolResult(place, {
        mime: 'application/json',
        text: JSON.stringify({ path: 'tc:turn_1.c0.result', status: 'ok', blocks_hidden: 2, tokens_hidden: 140 }),
      }),
    ]),
    turnId: 'turn_1',
  }
}

/** As expiry leaves it: an old turn folded into one line per path, a look-up of a recent turn folded into its essence. */
const pruned = (): Situation => {
  const before = timelineOf([
    ...opening('turn_1', 0, 'top 3 places to eat?'),
    ...attachmentBlocks('turn_1', minute(0), {
      name: 'menu.pdf',
      mime: 'application/pdf',
      size_bytes: 10,
      summary: 'a menu',
      blob: blob(10),
    }),
    ...search(at('turn_1', 0, 'a0')),
    ...written(at('turn_1', 1, 'a1'), 'ranking.md', ranking),
    assistantCompletion('turn_1', minute(3), { text: 'Katarina, Scarpati and the Miner’s.', sourcesUsed: [1, 2] }),
    ...opening('turn_2', 4, 'is Katarina open on Mondays?'),
    ...search(at('turn_2', 0, 'b0')),
    assistantCompletion('turn_2', minute(5), { text: 'No: Tuesday to Saturday.' }),
    ...opening('turn_3', 60, 'and Scarpati?'),
  ])
  const text = ({ type, text: own = '', path = '' }: Block): string => {
    if (type === 'react.tool.call') return own
    if (own.includes('artifact_path')) return own
    if (path.startsWith('tc:')) return JSON.stringify({ tool_id: 'web_tools.web_search', result: found.slice(0, 2) })
    return path.startsWith('fi:') ? `[TRUNCATED FILE] path=${path}` : `[TRUNCATED] ${own.slice(0, 60)}`
  }
  const fold = (timeline: Timeline, path: string, scope: 'old_turn' | 'recent'): Timeline => {
    const group = blocksAtPath(timeline, path)
    return changed(timeline, {
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
      systemMessage('turn_3', minute(60), {
        key: 'cache_pruned',
        kind: 'cache_ttl_pruned',
        text: 'The session was idle for more than 300s, so older context was shortened. Everything still exists under its path.',
      }),
    ]),
    turnId: 'turn_3',
  }
}

const visitPlan: Plan = {
  plan_id: 'plan_abc',
  steps: ['Search top restaurants', 'Cross-check ratings', 'Draft ranked list'],
  status: { '1': 'done', '2': 'in_progress' },
  current: true,
  created_ts: minute(1),
  last_ts: minute(2),
  origin_turn_id: 'turn_1',
  last_turn_id: 'turn_1',
}

const compacted = (): Situation => {
  const full = timelineOf([
    ...opening('turn_1', 0, 'top 3 places to eat?'),
    ...written(at('turn_1', 0, 'a0'), 'ranking.md', ranking),
    assistantCompletion('turn_1', minute(3), { text: 'Katarina, Scarpati and the Miner’s.' }),
    ...opening('turn_2', 4, 'make it a top 5'),
    ...search(at('turn_2', 0, 'b0')),
  ])
  const last = blocksOf(full).find(({ path }) => path === 'ar:turn_1.assistant.completion') as Block
  const noteText = '[P] prefers small places\n[D] Wanderlog and TheFork are the primary sources'
  const blocks = enter(full, [
    rangeSummary('turn_2', minute(4), {
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
      ...internalNote(at('turn_2', 0, 'a9'), 'ar:turn_2.react.note.preserved.1', noteText),
      type: 'react.note.preserved',
      meta: { source_path: 'fi:turn_1.files/memory.md', preserved_by_compaction: true, note_tags: ['P', 'D'] },
    },
    planSnapshot('turn_2', minute(4), visitPlan),
  ])
  return {
    timeline: changed(full, { type: 'range.compacted', after_id: last.id, blocks, covered: ['turn_1'] }),
    turnId: 'turn_2',
    announce: { budget: budget(1), plans: [visitPlan] },
  }
}

const midTurnCompacted = (): Situation => {
  const full = timelineOf([
    ...opening('turn_1', 0, 'top 3 places to eat, as a report'),
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
    timeline: changed(
      full,
      { type: 'blocks.hidden', ids: folded.map(({ id }) => id), replacement_text: '', reason: 'compaction' },
      { type: 'blocks.inserted', after_id: (folded.at(-1) as Block).id, blocks: enter(full, [checkpoint]) },
    ),
    turnId: 'turn_1',
  }
}

const plans = (): Situation => {
  const fresh: Plan = { ...visitPlan, status: {}, last_ts: minute(1) }
  const opened = at('turn_1', 0, 'c0')
  return {
    timeline: timelineOf([
      ...opening('turn_1', 0, 'top 3 places to eat?'),
      ...ask(opened, 'react.plan', { mode: 'new', steps: [...fresh.steps] }),
      planSnapshot('turn_1', minute(1), fresh, 0),
      toolResult(opened, {
        mime: 'text/plain',
        text: 'mode: new\nplan_id: plan_abc\nlatest_snapshot_ref: ar:plan.latest:plan_abc',
        meta: { render_role: 'summary' },
      }),
      decisionNotes(at('turn_1', 1, 'c1'), '✓ [1] searched\n… [2] comparing ratings'),
      planAck('turn_1', minute(2), {
        iteration: 1,
        text: '✓ 1. Search top restaurants\n… 2. Cross-check ratings — in progress',
        planId: 'plan_abc',
      }),
      planSnapshot('turn_1', minute(2), visitPlan, 1),
      ...search(at('turn_1', 1, 'c1')).slice(1),
      planSnapshot('turn_1', minute(3), { ...visitPlan, last_ts: minute(3) }, 2),
      ...written(at('turn_1', 2, 'c2'), 'ranking.md', ranking),
    ]),
    turnId: 'turn_1',
    announce: { budget: budget(3), plans: [{ ...visitPlan, last_ts: minute(3) }] },
  }
}

const notices = (): Situation => {
  const refused = at('turn_1', 0, 'c0')
  const rewritten = at('turn_1', 1, 'c1')
  const read = at('turn_1', 2, 'c2')
  const status = {
    paths: [
      { path: 'fi:turn_1.files/ranking.md', tokens: 41 },
      { path: 'ar:turn_1.user.prompt', status: 'exists_in_visible_context' },
      { path: 'fi:turn_0.files/gone.md', missing: true },
    ],
    total_tokens: 41,
    missing: ['fi:turn_0.files/gone.md'],
    exists_in_visible_context: ['ar:turn_1.user.prompt'],
    visible_context_refs: { 'ar:turn_1.user.prompt': 'turn turn_1' },
  }
  return {
    timeline: timelineOf([
      ...opening('turn_1', 0, 'top 3 places to eat?'),
      notice(refused, {
        code: 'protocol_violation.unknown_tool_id',
        message: 'There is no tool web.search. Did you mean web_tools.web_search?',
        tool_id: 'web.search',
      }),
      ...ask(rewritten, 'react.write', { path: 'turn_0/files/ranking.md', content: 'short', kind: 'display' }),
      notice(rewritten, {
        code: 'protocol_violation.path_rewritten',
        message: 'Writes go to the current turn.',
        original: 'turn_0/files/ranking.md',
        normalized: 'turn_1/files/ranking.md',
      }),
      artifactDigest(rewritten, {
        artifact_path: 'fi:turn_1.files/ranking.md',
        kind: 'display',
        error: { code: 'empty_file', message: 'nothing was written' },
      }),
      notice(rewritten, { code: 'tool_result_error', message: 'The file is empty.' }, 'result'),
      ...ask(read, 'react.read', { paths: ['fi:turn_1.files/ranking.md', 'ar:turn_1.user.prompt', 'fi:turn_0.files/gone.md'] }),
      toolResult(read, { mime: 'application/json', text: JSON.stringify(status) }),
      artifactContent(read, {
        path: 'fi:turn_1.files/ranking.md',
        mime: 'text/markdown',
        text: ranking,
        digest: { artifact_path: 'fi:turn_1.files/ranking.md' },
        meta: { physical_path: 'turn_1/files/ranking.md' },
      }),
    ]),
    turnId: 'turn_1',
  }
}

const feedback = (): Situation => {
  const told = timelineOf([
    ...opening('turn_1', 0, 'top 3 places to eat?'),
    assistantCompletion('turn_1', minute(3), { text: 'Katarina, Scarpati and the Miner’s.', sourcesUsed: [1, 2] }),
    suggestedFollowups('turn_1', minute(3), ['Which is cheapest?']),
    ...opening('turn_2', 30, 'and the cheapest?'),
  ])
  const end = blocksOf(told).findLast(({ turn_id }) => turn_id === 'turn_1') as Block
  const said = { text: 'Scarpati is closed for good', origin: 'user' as const, reaction: 'not_ok' as const }
  return {
    timeline: changed(told, { type: 'blocks.inserted', after_id: end.id, blocks: enter(told, [turnFeedback('turn_1', minute(20), said)]) }),
    turnId: 'turn_2',
    announce: {
      budget: budget(0),
      plans: [],
      feedbacks: [{ turnId: 'turn_1', turnTs: minute(0), ts: minute(20), incorporated: true, ...said }],
    },
  }
}

const followupAndSteer = (): Situation => ({
  timeline: timelineOf([
    ...opening('turn_1', 0, 'top 3 places to eat?'),
    ...search(at('turn_1', 0, 'c0')),
    userEvent('followup', 'turn_1', minute(2), { messageId: 'm1', text: 'vegetarian, please' }),
    ...search(at('turn_1', 1, 'c1')),
    userEvent('steer', 'turn_1', minute(3), { messageId: 'm2', text: 'only in Elberfeld' }),
  ]),
  turnId: 'turn_1',
  announce: {
    budget: { iteration: 2, max: 16, bonus: 1, elapsedSeconds: 185 },
    plans: [],
    events: [
      { kind: 'followup', ts: minute(2), text: 'vegetarian, please', path: 'ar:turn_1.external.followup.m1' },
      { kind: 'steer', ts: minute(3), text: 'only in Elberfeld', path: 'ar:turn_1.external.steer.m2' },
    ],
  },
})

const largeResults = (): Situation => {
  const place = at('turn_1', 0, 'c0')
  const shot = at('turn_1', 1, 'c1')
  const rows = Array.from({ length: 400 }, (_, n) => ({ n, name: `row ${n}`, open: n % 2 === 0, score: n / 4 }))
  const images = Array.from({ length: 10 }, (_, n) => ({ artifact_path: `fi:turn_1.outputs/page-${n + 1}.png`, mime: 'image/png' }))
  return {
    timeline: timelineOf([
      ...opening('turn_1', 0, 'list every restaurant, with a picture of each page'),
      ...ask(place, 'city.list', { city: 'Wuppertal' }),
      toolResult(place, { mime: 'application/json', text: JSON.stringify({ city: 'Wuppertal', rows }) }),
      ...ask(shot, 'pages.shoot', { pages: 10, stamp: 'QUJD'.repeat(700) }),
      ...images.map((digest) => artifactDigest(shot, digest)),
      ...images.map((digest) => artifactContent(shot, { path: digest.artifact_path, mime: 'image/png', blob: blob(1_000), digest })),
    ]),
    turnId: 'turn_1',
  }
}

export const situations: { readonly [name: string]: () => Situation } = {
  'first-turn': firstTurn,
  'tool-rounds': toolRounds,
  attachments,
  hidden,
  pruned,
  compacted,
  'mid-turn-compacted': midTurnCompacted,
  plans,
  notices,
  feedback,
  'followup-and-steer': followupAndSteer,
  'large-results': largeResults,
}
