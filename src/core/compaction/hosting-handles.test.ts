import { expect, it } from 'vitest'
import { compact, open, plan, shownText, tokens, turn, turns } from '../../../test/support/prompts/compaction.ts'
import { timelineOf } from '../../../test/support/prompts/timelines.ts'
import { blockOrigin, call, minute } from '../../testing/blocks.ts'
import { artifactContentBlock, attachmentBlocks, type Draft, toolResultBlock } from '../block/index.ts'
import { defaultExpirySettings, planExpiry } from '../expiry/expiry.ts'
import { resolvePath } from '../timeline/resolve.ts'
import { blocksOf } from '../timeline/timeline.ts'

it('no hosting handle and no absolute path gets into a summary, its request, a checkpoint, an index or a replacement text', () => {
  const hosting = { hosted_uri: 's3://SECRET', rn: 'ef:SECRET', key: 'SECRET', local_path: '/SECRET' }
  const path = 'fi:t1.files/a.bin'
  const leaky = { artifact_path: path, mime: 'application/zip', ...hosting, physical_path: '/SECRET/a.bin' }
  const inside: readonly Draft[] = [
    ...attachmentBlocks('t1', minute(1), {
      name: 'm.pdf',
      mime: 'application/pdf',
      size_bytes: 9,
      blob: { sha256: 'a'.repeat(64), size: 9 },
      ...hosting,
    }),
    call('w', 'react.write', 't1', 5),
    toolResultBlock(blockOrigin('w', 't1', 5), { mime: 'application/json', text: JSON.stringify(leaky), meta: hosting }),
    artifactContentBlock(blockOrigin('w', 't1', 5), { path, mime: 'application/zip', digest: { artifact_path: path }, meta: hosting }),
    call('x', 'other.tool', 't1', 6),
    toolResultBlock(blockOrigin('x', 't1', 6), { mime: 'application/json', text: JSON.stringify({ files: [{ name: 'a', ...hosting }] }) }),
  ]
  const history = timelineOf([...turn(1, 1, inside), ...turns(2, 9), ...open(10)])
  const running = timelineOf([...turn(1, 1, inside).slice(0, -1), ...open(1, 20).slice(2)])
  const compacted = compact(history, { limit: 900 }).timeline
  const condensed = compact(running, { limit: 20_000, force: true, attempt: 2 }).timeline
  const whole = { atPath: () => [], ofTurn: () => blocksOf(history) }
  const idle = { ...history, cache: { touched_at: minute(0), ttl_seconds: 300 } }
  const outputs = [
    plan(history, { limit: 900 })?.history?.request,
    plan(running, { limit: 20_000, force: true, attempt: 2 })?.prefix?.request,
    shownText(compacted),
    shownText(condensed),
    blocksOf(compacted)[0]?.meta?.compaction_digest,
    resolvePath(compacted, blocksOf(compacted)[0]?.path ?? '', whole),
    resolvePath(compacted, 'ar:t1.react.turn.index', whole),
    planExpiry(idle, { now: minute(60), currentTurnId: 't10', settings: defaultExpirySettings, tokens }),
  ]
  for (const text of outputs.map((value) => JSON.stringify(value))) {
    expect(text?.length).toBeGreaterThan(200)
    expect(text).not.toContain('SECRET')
  }
})
