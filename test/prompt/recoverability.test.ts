import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  artifactContentBlock,
  artifactDigestBlock,
  type Block,
  type Draft,
  internalNoteBlock,
  noteSegments,
  type Plan,
  planBlock,
  readDigest,
  readPlan,
  toolCallBlock,
  toolResultBlock,
  userEventBlock,
} from '../../src/core/block/index.ts'
import { defaultExpirySettings, planExpiry } from '../../src/core/expiry/expiry.ts'
import { parsePath } from '../../src/core/path/logical.ts'
import { applyChange } from '../../src/core/timeline/apply.ts'
import { blocksOfChange, type Change } from '../../src/core/timeline/change.ts'
import { type BlockHistory, resolvePath } from '../../src/core/timeline/resolve.ts'
import { assignIds, blocksOf, emptyTimeline, type Timeline } from '../../src/core/timeline/timeline.ts'
import { blockOrigin, completion, header, minute, prompt } from '../../src/testing/blocks.ts'
import { compact, shownText, shownTokens, tokens } from '../support/prompts/compaction.ts'

/** A timeline and the journal that it was built from. */
interface Conversation {
  timeline: Timeline
  readonly journal: Change[]
}

const write = (conversation: Conversation, ...changes: readonly Change[]) => {
  for (const change of changes) {
    conversation.timeline = applyChange(conversation.timeline, change)
    conversation.journal.push(change)
  }
}
const append = (conversation: Conversation, drafts: readonly Draft[]) =>
  write(conversation, { type: 'blocks.appended', blocks: assignIds(conversation.timeline, drafts) })

const allBlocks = ({ journal }: Conversation): readonly Block[] => journal.flatMap(blocksOfChange)
const historyOf = (conversation: Conversation): BlockHistory => {
  const blocks = allBlocks(conversation)
  return {
    atPath: (path) => blocks.filter((block) => block.path === path),
    ofTurn: (turnId) => blocks.filter((block) => block.turn_id === turnId),
  }
}

const anyAction = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('search' as const),
      words: fc.integer({ min: 5, max: 600 }),
      found: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('file' as const),
      name: fc.integer({ min: 0, max: 30 }),
      words: fc.integer({ min: 1, max: 300 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('exec' as const), files: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('note' as const),
      name: fc.integer({ min: 0, max: 60 }),
      tag: fc.constantFrom('P', 'D', 'S'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('plan' as const), steps: fc.integer({ min: 1, max: 5 }), fresh: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('followup' as const) }) },
)
type Action = typeof anyAction extends fc.Arbitrary<infer T> ? T : never
/** Any turn. Some turns start after a pause in which the cache expires, so old content is hidden. */
const anyTurn = fc.record({
  actions: fc.array(anyAction, { minLength: 1, maxLength: 9 }),
  afterPause: fc.nat({ max: 3 }).map((n) => n === 0),
})

const words = (count: number) => 'word '.repeat(count)

/** Runs one turn from its request to its answer. Compacts whenever the context is full, also in the middle of the turn. */
function runTurn(
  conversation: Conversation,
  number: number,
  { actions, afterPause }: { readonly actions: readonly Action[]; readonly afterPause: boolean },
  compactions: { count: number },
) {
  const turnId = `turn_${number}`
  append(conversation, [header(turnId, number), prompt(`request number ${number}: ${words(10)}`, turnId, number)])
  if (afterPause) write(conversation, ...expiryOf(conversation, turnId))
  actions.forEach((each, index) => {
    append(conversation, draftsOf(conversation, each, turnId, index))
    if (shownTokens(conversation.timeline) > LIMIT) compactNow(conversation, turnId, compactions)
  })
  append(conversation, [completion(`answer number ${number} ${words(60)}`, turnId, number)])
}

const LIMIT = 4500

function expiryOf({ timeline }: Conversation, currentTurnId: string): readonly Change[] {
  const idle = { ...timeline, cache: { touched_at: minute(0), ttl_seconds: 300 } }
  const settings = { ...defaultExpirySettings, keepRecentTurns: 2 }
  return planExpiry(idle, { now: minute(9999), currentTurnId, settings, tokens }).changes
}

function compactNow(conversation: Conversation, turnId: string, compactions: { count: number }) {
  compactions.count++
  write(
    conversation,
    ...compact(conversation.timeline, { limit: LIMIT, currentTurnId: turnId }, `Summary ${compactions.count}: the work went on.`).changes,
  )
}

function draftsOf(conversation: Conversation, action: Action, turnId: string, index: number): readonly Draft[] {
  const at = blockOrigin(`${turnId}c${index}`, turnId, index)
  const called = (toolId: string, params = {}) => toolCallBlock(at, { toolId, params })
  switch (action.kind) {
    case 'search': {
      const { next_sid } = conversation.timeline.sources
      const rows = Array.from({ length: action.found }, (_, i) => ({
        sid: next_sid + i,
        url: `https://${next_sid + i}.example`,
        title: `S${next_sid + i}`,
      }))
      write(conversation, { type: 'sources.merged', ts: at.ts, rows, next_sid: next_sid + action.found })
      return [
        called('web_tools.web_search', { query: 'q' }),
        toolResultBlock(at, { mime: 'application/json', text: JSON.stringify(rows) + ' '.repeat(action.words) }),
      ]
    }
    case 'file': {
      const path = `fi:${turnId}.files/file-${action.name}.md`
      const digest = { artifact_path: path, mime: 'text/markdown', kind: 'display' as const, visibility: 'external' as const }
      return [
        called('react.write', { path }),
        artifactDigestBlock(at, digest),
        artifactContentBlock(at, { path, mime: 'text/markdown', text: words(action.words), digest }),
      ]
    }
    case 'exec': {
      const digests = Array.from({ length: action.files }, (_, i) => ({
        artifact_path: `fi:${turnId}.outputs/${index}-${i}.csv`,
        mime: 'text/csv',
        kind: 'file' as const,
      }))
      return [
        called('exec_tools.execute_code_python'),
        ...digests.map((digest) => artifactDigestBlock(at, digest)),
        toolResultBlock(at, { mime: 'text/markdown', text: 'done' }),
      ]
    }
    case 'note': {
      const path = `fi:${turnId}.files/note-${action.name}.md`
      const text = `[${action.tag}] remark ${action.name} of ${turnId};`
      return [
        called('react.write', { path }),
        artifactDigestBlock(at, { artifact_path: path, visibility: 'internal' }),
        internalNoteBlock(at, path, text),
      ]
    }
    case 'plan': {
      const known = allBlocks(conversation).flatMap((block) => readPlan(block) ?? [])
      const open = action.fresh ? undefined : known.at(-1)
      const plan: Plan = open
        ? { ...open, status: { ...open.status, '1': 'done' }, last_ts: at.ts }
        : {
            plan_id: `plan:${turnId}:${index}`,
            steps: Array.from({ length: action.steps }, (_, i) => `step ${i} of ${turnId} ${index};`),
            status: {},
            current: true,
          }
      return [
        called('react.plan', { mode: 'new' }),
        planBlock(turnId, at.ts, plan, index),
        toolResultBlock(at, { mime: 'text/markdown', text: `plan_id: ${plan.plan_id}` }),
      ]
    }
    case 'followup':
      return [userEventBlock('followup', turnId, at.ts, { messageId: `m${index}`, text: `also ${turnId} ${index};` })]
    default:
      return action satisfies never
  }
}

/** Texts that must be visible, or that the model must be able to read with one `react.read`. */
function requiredTexts(conversation: Conversation): readonly { readonly what: string; readonly words: string }[] {
  const blocks = conversation.journal.flatMap((change) => (change.type === 'blocks.appended' ? change.blocks : []))
  const notes = new Map(blocks.filter(({ type }) => type === 'react.note').map((note) => [note.path, note]))
  const preferences = [...notes.values()].flatMap(({ text }) => noteSegments(text ?? '').filter(({ tag }) => tag === 'P'))
  const requests = blocks.filter(({ type }) => type === 'user.prompt' || type === 'user.followup')
  const lastCovered = blocksOf(conversation.timeline)[0]?.meta?.covered_turn_ids as readonly string[] | undefined
  return [
    ...blocks.flatMap((block) => (readDigest(block) ? [{ what: 'artifact', words: readDigest(block)?.artifact_path as string }] : [])),
    ...blocks.flatMap((block) => readPlan(block)?.steps.map((step) => ({ what: 'plan step', words: step })) ?? []),
    ...preferences.map(({ text }) => ({ what: 'preference', words: text })),
    ...requests.slice(-1).map(({ text }) => ({ what: 'last request', words: (text ?? '').trim() })),
    ...requests
      .filter(({ turn_id }) => turn_id === lastCovered?.at(-1))
      .map(({ text }) => ({ what: 'last covered request', words: (text ?? '').trim() })),
    ...conversation.timeline.sources.rows.map(({ sid }) => ({ what: 'source', words: `sid ${sid};` })),
  ]
}

/** The visible text, and the texts that one read of each visible path returns. */
function textsInReach(conversation: Conversation): { readonly shown: string; readonly oneLookUp: string } {
  const shown = shownText(conversation.timeline)
  const history = historyOf(conversation)
  const paths = new Set((shown.match(/\b(?:ar|fi|tc|su|so):[^\s"'|]+(?:\[[^\]]*\])?/g) ?? []).map(trimmed))
  const found = [...paths].flatMap((path) => {
    const resolved = parsePath(path) ? resolvePath(conversation.timeline, path, history) : undefined
    if (resolved?.status === 'blocks') return resolved.blocks.map(({ text }) => text ?? '')
    if (resolved?.status === 'artifact') return [path, resolved.artifact.text ?? '']
    if (resolved?.status === 'view') return [resolved.text]
    return resolved?.status === 'sources' ? resolved.rows.map(({ sid }) => `sid ${sid};`) : []
  })
  return { shown, oneLookUp: found.join('\n') }
}

const trimmed = (path: string) => (path.startsWith('so:') ? path : path.replace(/[\]),.;]+$/, ''))

function score(conversation: Conversation): { readonly kept: number; readonly visible: number; readonly lost: readonly string[] } {
  const { shown, oneLookUp } = textsInReach(conversation)
  const all = requiredTexts(conversation)
  const lost = all.filter(({ words: text }) => !shown.includes(text) && !oneLookUp.includes(text))
  return {
    kept: all.length,
    visible: all.filter(({ words: text }) => shown.includes(text)).length,
    lost: lost.map(({ what, words: text }) => `${what}: ${text}`),
  }
}

it.each([1, 3, 10])('after %i compactions every required text is visible or reachable by one read', (wanted) => {
  const sums = { histories: 0, kept: 0, visible: 0, lost: 0 }
  fc.assert(
    fc.property(fc.infiniteStream(anyTurn), (turns) => {
      const conversation: Conversation = { timeline: emptyTimeline(), journal: [] }
      const compactions = { count: 0 }
      for (let number = 1; compactions.count < wanted; number++) {
        const next = turns.next()
        if (!next.done) runTurn(conversation, number, next.value, compactions)
      }
      const { kept, visible, lost } = score(conversation)
      sums.histories++
      sums.kept += kept
      sums.visible += visible
      sums.lost += lost.length
      expect(lost).toEqual([])
    }),
    { numRuns: 5, seed: 20260101 },
  )
  const percent = (part: number) => `${((100 * part) / sums.kept).toFixed(1)} %`
  console.log(
    `recoverability after ${wanted}: ${percent(sums.kept - sums.lost)} of ${sums.kept} in ${sums.histories} histories, ${percent(sums.visible)} visible`,
  )
})

it('the check detects a loss: without the digest of the summary, many texts of a long conversation are missing', () => {
  const conversation: Conversation = { timeline: emptyTimeline(), journal: [] }
  const compactions = { count: 0 }
  const busy: readonly Action[] = Array.from({ length: 8 }, (_, i) => ({ kind: 'file' as const, name: i, words: 200 }))
  for (let number = 1; compactions.count < 12; number++) runTurn(conversation, number, { actions: busy, afterPause: false }, compactions)
  expect(score(conversation).lost).toEqual([])
  const [summary, ...rest] = blocksOf(conversation.timeline)
  const { compaction_digest: _digest, ...meta } = (summary as Block).meta ?? {}
  const blind = applyChange(emptyTimeline(), { type: 'blocks.appended', blocks: [{ ...(summary as Block), meta }, ...rest] })
  expect(score({ timeline: blind, journal: conversation.journal }).lost.length).toBeGreaterThan(10)
})

it('the size of a compaction entry does not grow with the conversation, and every required text stays reachable', () => {
  const conversation: Conversation = { timeline: emptyTimeline(), journal: [] }
  const busy: readonly Action[] = [
    ...Array.from({ length: 10 }, (_, name) => ({ kind: 'file' as const, name, words: 20 })),
    { kind: 'plan', steps: 3, fresh: true },
    { kind: 'search', words: 5, found: 10 },
  ]
  const written = () => conversation.journal.filter(({ type }) => type === 'range.compacted').map((change) => JSON.stringify(change).length)
  for (let number = 1; written().length < 60; number++) {
    runTurn(conversation, number, { actions: busy, afterPause: false }, { count: 0 })
  }
  expect(Math.max(...written().slice(30))).toBeLessThan(1.3 * Math.max(...written().slice(10, 30)))
  expect(score(conversation).lost).toEqual([])
})
