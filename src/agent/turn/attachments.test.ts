import { expect, it } from 'vitest'
import { png } from '../../../test/support/sample-files/images.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { unsafeReason } from '../../core/path/safety.ts'
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

it('names that a number would make too long are shortened by bytes, between characters, and keep their extension', () => {
  const bytes = (name: string) => Buffer.byteLength(name)
  for (const character of ['a', 'é', '語', '😀', '👩‍🔬'.slice(0, 2)]) {
    const stem = character.repeat(Math.floor(250 / bytes(character)))
    const name = `${stem}${'x'.repeat(250 - bytes(stem))}.txt`
    expect(bytes(name)).toBe(254)
    const names = named(...Array.from({ length: 12 }, () => name))
    expect(names[0]).toBe(name)
    expect(new Set(names).size).toBe(12)
    for (const each of names) expect(bytes(each)).toBeGreaterThan(255 - 4)
    for (const [index, each] of names.entries()) {
      expect(unsafeReason(each)).toBeUndefined()
      expect(each.isWellFormed()).toBe(true)
      if (index > 0) expect(each.endsWith(`-${index + 1}.txt`)).toBe(true)
    }
  }
  const [, second = ''] = named('b'.repeat(255), 'b'.repeat(255))
  expect(second).toBe(`${'b'.repeat(253)}-2`)
  const [first, longExtension = ''] = named(`a.${'c'.repeat(253)}`, `a.${'c'.repeat(253)}`)
  expect(first).toBe(`a.${'c'.repeat(253)}`)
  expect(longExtension).toBe(`a.${'c'.repeat(251)}-2`)
  expect(named(`${'語'.repeat(200)}.pdf`)).toEqual([`${'語'.repeat(83)}.pdf`])
})

it('two attachments with one long name can both be read', async () => {
  const name = `${'n'.repeat(250)}.txt`
  const harness = createHarness({
    replies: [
      ({ parts }) => {
        const paths = JSON.stringify(parts).match(/fi:[\w-]+\.user\.attachments\/n+(?:-2)?\.txt/g) ?? []
        return reply.call('react.read', { paths: [...new Set(paths)] })
      },
      reply.answer('Read.'),
    ],
  })
  const attachments = [
    { name, content: 'first content' },
    { name, content: 'second content' },
  ]
  await harness.agent.run(harness.conversationId, 'Read both.', { attachments }).result
  const last = JSON.stringify(harness.model.requests.at(-1))
  expect(last).toContain('first content')
  expect(last).toContain('second content')
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
