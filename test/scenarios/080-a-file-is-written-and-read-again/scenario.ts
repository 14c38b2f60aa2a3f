import { expect } from 'vitest'
import { localScope } from '../../../src/core/scope.ts'
import { blocksOf } from '../../../src/core/timeline/timeline.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

const report = `# Doors\n\n${Array.from({ length: 900 }, (_, n) => `House ${n} has a red door.`).join('\n')}\n`

export default {
  title: 'tools 18.19: a file is written, delivered once, and read by ranges in a later turn',
  setup: () => ({
    replies: [
      reply.call(
        'react.write',
        { path: 'files/doors/report.md', channel: 'canvas', content: report, kind: 'file' },
        { notes: 'Writing the report.' },
      ),
      reply.answer('Written.'),
      ({ parts }) => {
        const [path] = /fi:turn_\w+\.files\/doors\/report\.md/.exec(JSON.stringify(parts)) ?? []
        return reply.call('react.read', { paths: [path], items: [{ path, line_start: 899, line_count: 3 }] })
      },
      reply.answer('The last door is red, too.'),
    ],
  }),
  run: async (harness) => {
    await harness.say('Write a report about the doors.')
    await harness.say('What does it say at the end?')
  },
  check: async (harness) => {
    const written = blocksOf(await harness.timeline()).find(({ path, meta }) => path?.endsWith('doors/report.md') && meta?.rn !== undefined)
    const files = (await harness.workspaces.open(localScope, harness.conversationId)).files
    expect(Buffer.from((await files.read(String(written?.meta?.physical_path))) ?? []).toString()).toBe(report)
    const hosted = await harness.hosting?.resolve(String(written?.meta?.rn), localScope)
    expect(hosted && Buffer.from((await harness.hosting?.read(hosted)) ?? []).toString()).toBe(report)
    expect(await harness.hosting?.resolve(String(written?.meta?.rn), { ...localScope, user: 'other' })).toBeUndefined()
  },
} satisfies Scenario
