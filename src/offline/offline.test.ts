import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { conversations } from '../../test/support/generators/conversations.ts'
import { plainOptions, timelineOf } from '../../test/support/prompts/timelines.ts'
import { systemText } from '../agent/prompts/texts.ts'
import { parseTitleResponse } from '../agent/turn/title.ts'
import { composeAnnounce } from '../core/announce/announce.ts'
import { turnHeaderBlock, userPromptBlock } from '../core/block/index.ts'
import { historyPrompt, prefixPrompt } from '../core/compaction/summary-request.ts'
import { parseResponse } from '../core/decision/decision.ts'
import { readDecision } from '../core/decision/read.ts'
import { createRenderer } from '../core/render/render.ts'
import type { Part } from '../core/render/types.ts'
import type { ModelRequest, ModelRole } from '../ports/model.ts'
import { createPlanTool } from '../tools/react/plan.ts'
import { createReadTool } from '../tools/react/read.ts'
import { createWriteTool } from '../tools/react/write.ts'
import { createOfflineModel } from './index.ts'

const writeTool = createWriteTool()
const planTool = createPlanTool()

const model = createOfflineModel()
const tools = [createReadTool(), writeTool, planTool]
const system = systemText({ tools })
const announce = composeAnnounce({ budget: { iteration: 0, max: 15, elapsedSeconds: 0 }, plans: [] })
const ts = '2026-01-01T00:00:00.000Z'

const requestOf = (parts: readonly Part[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  role: 'decision',
  system,
  parts,
  maxTokens: 20_000,
  temperature: 0,
  cacheKey: 'c1',
  read: () => Promise.resolve(new Uint8Array()),
  ...more,
})

async function eventsOf(request: ModelRequest, signal = new AbortController().signal) {
  const events = []
  for await (const event of model.stream(request, signal)) events.push(event)
  return events
}

async function rawOf(request: ModelRequest): Promise<string> {
  return (await eventsOf(request)).map((event) => (event.type === 'text.delta' ? event.text : '')).join('')
}

const readingOf = async (request: ModelRequest) =>
  readDecision(parseResponse(await rawOf(request), { finishReason: 'stop', maxTokens: 20_000 }))

describe('the offline model', () => {
  it('gives a decision that the runtime accepts for every prompt of the renderer', async () => {
    const numRuns = 60
    let toolCalls = 0
    await fc.assert(
      fc.asyncProperty(conversations, async (steps) => {
        const drafts = steps.flat()
        const turnId = drafts.at(-1)?.turn_id ?? 't1'
        const { parts } = createRenderer().render(timelineOf(drafts), plainOptions(turnId, { announce }))
        const reading = await readingOf(requestOf(parts))
        expect(reading).toMatchObject({ ok: true, warnings: [] })
        if (!reading.ok || reading.decision.action !== 'call_tool') return
        toolCalls++
        expect(tools.map(({ id }) => id)).toContain(reading.decision.toolId)
      }),
      { numRuns },
    )
    expect(toolCalls).toBeGreaterThan(numRuns / 12)
  })

  it('gives a decision for text that is not a prompt of the renderer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string(), { maxLength: 3 }), fc.string(), async (texts, other) => {
        const parts = texts.map((text): Part => ({ type: 'text', text }))
        expect(await readingOf(requestOf(parts, { system: other }))).toMatchObject({ ok: true, decision: { action: 'complete' } })
      }),
      { numRuns: 60 },
    )
  })

  it('streams small pieces of well-formed text, ends with its usage, and stops when aborted', async () => {
    const request = requestOf([{ type: 'text', text: '[USER MESSAGE]\nHello 😀😀😀😀😀😀😀😀😀😀😀😀😀\n\n' }])
    const events = await eventsOf(request)
    expect(events.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop', modelName: 'offline' })
    expect(events.length).toBeGreaterThan(5)
    for (const event of events) if (event.type === 'text.delta') expect(event.text.isWellFormed()).toBe(true)
    expect(await eventsOf(request, AbortSignal.abort())).toMatchObject([
      { type: 'error', error: { kind: 'aborted', stage: 'before_output' } },
    ])
  })

  it('keeps to the output limit and then finishes with reason length', async () => {
    const events = await eventsOf(requestOf([{ type: 'text', text: '[USER MESSAGE]\nWhat can you do?' }], { maxTokens: 20 }))
    expect(events.at(-1)).toMatchObject({ type: 'finish', finishReason: 'length', usage: { output: 20 } })
  })

  it('answers in the last call of a turn although there is more to read', async () => {
    const last = composeAnnounce({ budget: { iteration: 14, max: 15, elapsedSeconds: 0, wrapUp: true }, plans: [] })
    const drafts = [turnHeaderBlock('t1', ts), userPromptBlock('t1', ts, 'Write a report')]
    const attached: Part = { type: 'text', text: '[USER ATTACHMENT] a.md | text/markdown\n[path: fi:t1.user.attachments/a.md]\n\n' }
    const { parts } = createRenderer().render(timelineOf(drafts), plainOptions('t1', { announce: last }))
    const request = requestOf([...parts.slice(0, -1), attached, ...parts.slice(-1)])
    expect(await readingOf(request)).toMatchObject({ ok: true, decision: { action: 'complete' } })
  })
})

describe('the offline model in other roles', () => {
  const respond = (role: ModelRole, text: string) => rawOf(requestOf([{ type: 'text', text }], { role }))

  it('gives a title of a few words, or none for an empty message', async () => {
    const raw = await respond('gate', '[USER MESSAGE]\n[path: ar:t1.user.prompt]\nWhat does "lunch" cost on a rainy Monday?\n\n')
    expect(parseTitleResponse(raw).title).toBe('What does lunch cost on a …')
    expect(parseTitleResponse(await respond('gate', '[USER MESSAGE]\n\n')).title).toBeUndefined()
  })

  const conversation = [
    '[User]: What does lunch cost?',
    '[Internal Note]: [P] no fish',
    '[Assistant tool calls]: react.read(paths=["fi:t1.user.attachments/menu.md"])',
    '[Assistant]: Lunch costs 14 €.',
    '[User]: And dinner?',
  ].join('\n\n')

  it('summarises in the requested sections and keeps the lines of the previous summary', async () => {
    const first = await respond('compaction', historyPrompt({ conversation }))
    expect(first.match(/^## .*/gm)).toEqual([
      '## Active Work Reminder',
      '## Goals',
      '## Constraints & Preferences',
      '## Progress',
      '## Key Decisions',
      '## Next Steps',
      '## Critical Context',
    ])
    expect(first).toContain('active_request: And dinner?')
    expect(first).toContain('- [P] no fish')
    expect(first).toContain('- What does lunch cost? → Lunch costs 14 €.')
    expect(first).toContain('fi:t1.user.attachments/menu.md')
    const second = await respond('compaction', historyPrompt({ conversation: '[User]: Thanks', previous: first }))
    expect(second).toContain('- [P] no fish')
    expect(second).toContain('- What does lunch cost? → Lunch costs 14 €.')
  })

  it('summarises the beginning of a turn in the requested lines', async () => {
    const lines = (await respond('compaction', prefixPrompt(conversation))).split('\n').map((line) => line.slice(0, line.indexOf(':')))
    expect(lines).toEqual([
      'active_request',
      'retrieval_anchors',
      'read_refs',
      'done',
      'open',
      'next',
      'recovery_plan',
      'original_request',
      'early_progress',
      'context_for_suffix',
      'compacted_large_results',
    ])
  })
})
