import { expect, it } from 'vitest'
import { png } from '../../../test/support/sample-files/images.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { documentEligibleMimes } from '../../core/sources/source.ts'
import { emptyTimeline } from '../../core/timeline/timeline.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { assignUniqueNames } from './attachments.ts'

const named = (...names: readonly string[]) =>
  assignUniqueNames(
    names.map((name) => ({ name, mime: 'text/plain', size_bytes: 1 })),
    't1',
    emptyTimeline(),
  ).map(({ name }) => name)

it('attachments get unique names', () => {
  expect(named('a.png', 'a.png', 'b/a.png', 'a', 'a')).toEqual(['a.png', 'a-2.png', 'a-3.png', 'a', 'a-2'])
})

it('attachment names are safe as paths: only the last segment is kept', () => {
  expect(named('../../etc/passwd', '/home/me/x.txt', 'C:\\Users\\me\\y.txt', 'z\0\n.txt', '', '..', '%2e%2e', 'w:1.txt')).toEqual([
    'passwd',
    'x.txt',
    'y.txt',
    'z__.txt',
    'attachment',
    'attachment-2',
    '_2e_2e',
    'w_1.txt',
  ])
  expect(named(`${'é'.repeat(500)}.png`)[0]).toMatch(/^é+\.png$/)
})

it('directories of the sender are not journaled', async () => {
  const harness = createHarness({ replies: [reply.answer('Seen.')] })
  const attachments = [{ name: '/home/me/secret/plan.png', content: png() }]
  await harness.agent.run(harness.conversationId, 'See.', { attachments }).result
  expect(JSON.stringify(await harness.journal())).not.toContain('secret')
  const { artifact_path = '' } = (await harness.timeline()).sources.rows[0] ?? {}
  expect(toPhysical(artifact_path)).toMatch(/attachments\/plan\.png$/)
})

it('the source of an attached text file has a short snippet of its content', async () => {
  const settings = { sources: { eligibleMimes: documentEligibleMimes } }
  const harness = createHarness({ replies: [reply.answer('Seen.')], settings })
  const attachments = [
    { name: 'prices.txt', content: `Prices\n\n${'bread 2 euro, '.repeat(100)}` },
    { name: 'plan.png', content: png() },
  ]
  await harness.agent.run(harness.conversationId, 'See.', { attachments }).result
  const [text, image] = (await harness.timeline()).sources.rows
  expect(text?.text).toMatch(/^Prices bread 2 euro, .{100,}…$/)
  expect(text?.text?.length).toBeLessThanOrEqual(200)
  expect(image).not.toHaveProperty('text')
})
