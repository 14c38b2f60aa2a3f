import {
  artifactContentBlock,
  artifactDigestBlock,
  attachmentBlocks,
  type Block,
  completionBlock,
  decisionNotesBlock,
  feedbackBlock,
  noticeBlock,
  type Plan,
  planAckBlock,
  planBlock,
  stageBlock,
  suggestedFollowupsBlock,
  thinkingBlock,
  toolCodeBlock,
  toolResultBlock,
  userEventBlock,
} from '../../src/core/block/index.ts'
import { emptyPool } from '../../src/core/sources/pool.ts'
import { assignIds, blocksOf } from '../../src/core/timeline/timeline.ts'
import { minute } from '../../src/testing/blocks.ts'
import { timelineOf, turnStart, withChanges } from '../support/prompts/timelines.ts'
import { forgedHeadings } from './hostile-situations.ts'
import { compacted, hidden, midTurnCompacted, pruned } from './memory-situations.ts'
import { ask, at, blob, budget, pool, ranking, type Situation, search, visitPlan, written } from './scenes.ts'

const firstTurn = (): Situation => ({
  timeline: timelineOf(turnStart('turn_1', 0, 'could you find top 3 places to eat here in wuppertal')),
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
      ...turnStart('turn_1', 0, 'could you find top 3 places to eat here in wuppertal, with a score sheet'),
      thinkingBlock(at('turn_1', 0, 'c0'), 'The user wants a list.'),
      ...search(at('turn_1', 0, 'c0')),
      ...written(at('turn_1', 1, 'c1'), 'ranking.md', ranking),
      decisionNotesBlock(exec, 'Now the sheet.'),
      toolCodeBlock(exec, "import openpyxl\nbook = openpyxl.Workbook()\nbook.save('turn_1/outputs/scores.xlsx')"),
      ...ask(exec, 'exec_tools.execute_code_python', { contract: ['scores.xlsx', 'scores.pdf', 'scores.png'] }),
      toolResultBlock(exec, {
        mime: 'text/markdown',
        text: 'Succeeded:\n- turn_1/outputs/scores.xlsx\n- turn_1/outputs/scores.pdf\n- turn_1/outputs/scores.png',
      }),
      artifactDigestBlock(exec, sheet),
      artifactDigestBlock(exec, report),
      artifactDigestBlock(exec, chart),
      artifactContentBlock(exec, { path: sheet.artifact_path, mime: sheet.mime, digest: sheet }),
      artifactContentBlock(exec, {
        path: report.artifact_path,
        mime: report.mime,
        blob: blob(40_120),
        digest: report,
        meta: { attach_to_model: true },
      }),
      artifactContentBlock(exec, { path: chart.artifact_path, mime: chart.mime, blob: blob(22_900), digest: chart }),
    ]),
    turnId: 'turn_1',
    pool,
    announce: { budget: budget(3), plans: [] },
  }
}

const attachments = (): Situation => ({
  timeline: timelineOf([
    ...turnStart('turn_1', 0, 'what does the menu cost for two?'),
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
    stageBlock('gate', 'turn_1', minute(0), '[STAGE: GATE OUTPUT]\ntitle: Price of a menu for two'),
  ]),
  turnId: 'turn_1',
})

const plans = (): Situation => {
  const fresh: Plan = { ...visitPlan, status: {}, last_ts: minute(1) }
  const opened = at('turn_1', 0, 'c0')
  return {
    timeline: timelineOf([
      ...turnStart('turn_1', 0, 'top 3 places to eat?'),
      ...ask(opened, 'react.plan', { mode: 'new', steps: [...fresh.steps] }),
      planBlock('turn_1', minute(1), fresh, 0),
      toolResultBlock(opened, {
        mime: 'text/plain',
        text: 'mode: new\nplan_id: plan_abc\nlatest_snapshot_ref: ar:plan.latest:plan_abc',
        meta: { render_role: 'summary' },
      }),
      decisionNotesBlock(at('turn_1', 1, 'c1'), '✓ [1] searched\n… [2] comparing ratings'),
      planAckBlock('turn_1', minute(2), {
        iteration: 1,
        text: '✓ 1. Search top restaurants\n… 2. Cross-check ratings — in progress',
        planId: 'plan_abc',
      }),
      planBlock('turn_1', minute(2), visitPlan, 1),
      ...search(at('turn_1', 1, 'c1')).slice(1),
      planBlock('turn_1', minute(3), { ...visitPlan, last_ts: minute(3) }, 2),
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
      ...turnStart('turn_1', 0, 'top 3 places to eat?'),
      noticeBlock(refused, {
        code: 'protocol_violation.unknown_tool_id',
        message: 'There is no tool web.search. Did you mean web_tools.web_search?',
        tool_id: 'web.search',
      }),
      ...ask(rewritten, 'react.write', { path: 'turn_0/files/ranking.md', content: 'short', kind: 'display' }),
      noticeBlock(rewritten, {
        code: 'protocol_violation.path_rewritten',
        message: 'Writes go to the current turn.',
        original: 'turn_0/files/ranking.md',
        normalized: 'turn_1/files/ranking.md',
      }),
      artifactDigestBlock(rewritten, {
        artifact_path: 'fi:turn_1.files/ranking.md',
        kind: 'display',
        error: { code: 'empty_file', message: 'nothing was written' },
      }),
      noticeBlock(rewritten, { code: 'tool_result_error', message: 'The file is empty.' }, 'result'),
      ...ask(read, 'react.read', { paths: ['fi:turn_1.files/ranking.md', 'ar:turn_1.user.prompt', 'fi:turn_0.files/gone.md'] }),
      toolResultBlock(read, { mime: 'application/json', text: JSON.stringify(status) }),
      artifactContentBlock(read, {
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
  const timeline = timelineOf([
    ...turnStart('turn_1', 0, 'top 3 places to eat?'),
    completionBlock('turn_1', minute(3), { text: 'Katarina, Scarpati and the Miner’s.', sourcesUsed: [1, 2] }),
    suggestedFollowupsBlock('turn_1', minute(3), ['Which is cheapest?']),
    ...turnStart('turn_2', 30, 'and the cheapest?'),
  ])
  const end = blocksOf(timeline).findLast(({ turn_id }) => turn_id === 'turn_1') as Block
  const feedback = { text: 'Scarpati is closed for good', origin: 'user' as const, reaction: 'not_ok' as const }
  return {
    timeline: withChanges(timeline, {
      type: 'blocks.inserted',
      after_id: end.id,
      blocks: assignIds(timeline, [feedbackBlock('turn_1', minute(20), feedback)]),
    }),
    turnId: 'turn_2',
    announce: {
      budget: budget(0),
      plans: [],
      feedbacks: [{ turnId: 'turn_1', turnTs: minute(0), ts: minute(20), incorporated: true, ...feedback }],
    },
  }
}

const followupAndSteer = (): Situation => ({
  timeline: timelineOf([
    ...turnStart('turn_1', 0, 'top 3 places to eat?'),
    ...search(at('turn_1', 0, 'c0')),
    userEventBlock('followup', 'turn_1', minute(2), { messageId: 'm1', text: 'vegetarian, please' }),
    ...search(at('turn_1', 1, 'c1')),
    userEventBlock('steer', 'turn_1', minute(3), { messageId: 'm2', text: 'only in Elberfeld' }),
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
      ...turnStart('turn_1', 0, 'list every restaurant, with a picture of each page'),
      ...ask(place, 'city.list', { city: 'Wuppertal' }),
      toolResultBlock(place, { mime: 'application/json', text: JSON.stringify({ city: 'Wuppertal', rows }) }),
      ...ask(shot, 'pages.shoot', { pages: 10, stamp: 'QUJD'.repeat(700) }),
      ...images.map((digest) => artifactDigestBlock(shot, digest)),
      ...images.map((digest) => artifactContentBlock(shot, { path: digest.artifact_path, mime: 'image/png', blob: blob(1_000), digest })),
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
  'forged-headings': forgedHeadings,
}
