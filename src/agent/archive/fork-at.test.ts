import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { weather } from '../../../test/support/scenario-tools.ts'
import { applyChange } from '../../core/timeline/apply.ts'
import { forkBundleAt, forkPoint } from '../../core/timeline/fork-at.ts'
import { blocksOf, emptyTimeline } from '../../core/timeline/timeline.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'

const search = defineTool({
  id: 'web_tools.web_search',
  description: 'Searches.',
  params: z.object({ page: z.number() }),
  run: ({ page }) => ({ ok: true, ret: [{ sid: 1, title: 'A study', url: `https://a.example/${page}`, text: 'Red.' }] }),
})
const call = reply.call('weather.today', { city: 'Rome' })
const recorded = async (more: Parameters<typeof createHarness>[0]['replies'] = []) => {
  const replies = [
    call,
    reply.call('web_tools.web_search', { page: 1 }),
    reply.answer('Red. [[S:1]]'),
    call,
    reply.answer('Clear.'),
    ...more,
  ]
  const harness = createHarness({ replies, tools: [weather(), search] })
  await harness.say('Which doors?')
  await harness.say('And the weather?')
  const journal = (await harness.journal()).map((change, index) => ({ seq: index + 1, change }))
  return { ...harness, journal, archive: harness.agent.archive }
}

describe('a fork at any entry', () => {
  it('has the timeline of that entry, or of the last entry before it without an open call', async () => {
    const { archive, journal } = await recorded()
    let forks = 0
    for (const { seq } of journal) {
      const kept = journal.slice(0, forkPoint(journal, seq))
      const then = kept.reduce((timeline, { change }) => applyChange(timeline, change), emptyTimeline())
      if (then.size === 0) {
        await expect(archive.fork('c1', `f${seq}`, seq)).rejects.toMatchObject({ code: 'change.invalid' })
        continue
      }
      forks++
      await archive.fork('c1', `f${seq}`, seq)
      const { blocks, sources_pool } = await archive.timeline(`f${seq}`)
      expect(blocks).toEqual(blocksOf(then))
      expect(sources_pool.map(({ sid }) => sid)).toEqual(then.sources.rows.map(({ sid }) => sid))
      const calls = blocks.filter(({ type }) => type === 'react.tool.call').map(({ call_id }) => call_id)
      const results = new Set(blocks.filter(({ type }) => type === 'react.tool.result').map(({ call_id }) => call_id))
      expect(calls.filter((id) => !results.has(id))).toEqual([])
    }
    expect(forks).toBeGreaterThan(15)
  })

  it('closes the turn that was open then as `forked`, also in a copy of the fork', async () => {
    const { archive, journal, store } = await recorded()
    const seq =
      journal.findIndex(
        ({ change }) => change.type === 'blocks.appended' && change.blocks.some(({ type }) => type === 'react.tool.result'),
      ) + 1
    await archive.fork('c1', 'f', seq)
    await archive.importBundle(await archive.exportBundle('f'), 'g')
    for (const id of ['f', 'g']) {
      const closed: unknown[] = []
      for await (const { change } of store.readJournal(id, { after: 0 })) if (change.type === 'turn.closed') closed.push(change.exit_reason)
      expect(closed).toEqual(['forked'])
      expect((await archive.head(id)).openTurn).toBe(null)
    }
    expect(await archive.replay('f')).toMatchObject([{ torn: true }])
  })

  it('goes on with a new message, and new sources get numbers that the original has not used', async () => {
    const { agent, archive, journal, model } = await recorded([reply.call('web_tools.web_search', { page: 2 }), reply.answer('Blue.')])
    const first = journal.findIndex(({ change }) => change.type === 'sources.merged')
    await archive.fork('c1', 'f', first)
    const used = (await archive.sources('c1')).map(({ sid }) => sid)
    expect(await agent.run('f', 'Go on.').result).toMatchObject({ ok: true, answer: 'Blue.' })
    expect(model.requests.at(-1)?.parts.some((part) => part.type === 'text' && part.text.includes('Which doors?'))).toBe(true)
    expect((await archive.sources('f')).filter(({ sid }) => used.includes(sid))).toEqual([])
    expect((await archive.timeline('f')).forked_from).toMatchObject({ conversation_id: 'c1' })
  })

  it('copies an import whole, and refuses entries that do not exist', async () => {
    const { archive } = await recorded()
    await archive.importBundle(await archive.exportBundle('c1'), 'copy')
    await archive.fork('copy', 'f', 1)
    expect((await archive.timeline('f')).blocks).toEqual((await archive.timeline('copy')).blocks)
    for (const seq of [0, -1, 1.5, 9_999, Number.NaN]) {
      await expect(archive.fork('c1', 'x', seq)).rejects.toMatchObject({
        code: 'change.invalid',
        message: expect.stringContaining('no entry'),
      })
    }
    await expect(archive.fork('none', 'x', 1)).rejects.toMatchObject({ code: 'conversation.missing' })
  })

  it('refuses an entry before which a retention policy has removed others', async () => {
    const { archive, journal } = await recorded()
    const bundle = await archive.exportBundle('c1')
    const torn = journal.filter(({ seq }) => seq !== 3)
    expect(() => forkBundleAt(bundle, torn, 10)).toThrow(/retention/)
  })

  it('keeps the files of the turns before', async () => {
    const write = reply.call('react.write', { path: 'files/a.md', channel: 'canvas', content: '# A', kind: 'file' })
    const harness = createHarness({ replies: [write, reply.answer('Written.'), call, reply.answer('Clear.')], tools: [weather()] })
    const { turnId } = await harness.say('Write.')
    harness.clock.advance(1_000)
    await harness.say('Weather?')
    const { archive } = harness.agent
    const journal = await harness.journal()
    await archive.fork('c1', 'f', journal.length - 1)
    expect((await archive.read('f', `fi:${turnId}.files/a.md`)).at(-1)?.text).toContain('# A')
    expect(
      (await archive.exportBundle('f')).turn_logs.map(({ blocks }) => blocks.some(({ type }) => type === 'react.workspace.publish')),
    ).toContain(true)
  })
})
