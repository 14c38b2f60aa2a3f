import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { IndexReport } from '../adapters/knowledge/indexer.ts'
import { effectiveSettings } from '../config/config.ts'
import { indexKnowledge } from './knowledge.ts'
import { openAgent } from './open-agent.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'knowledge-'))
  mkdirSync(join(folder, 'docs'))
  writeFileSync(join(folder, 'docs/a.md'), '# A\napples')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const settingsWith = (values: Readonly<Record<string, unknown>>) =>
  effectiveSettings([
    { origin: 'flag', values: { sandbox: 'off', data: join(folder, 'docs/data'), knowledge: [join(folder, 'docs')], ...values } },
  ]).settings

it('a server reads the documents when it starts, notices changes, and stops with its agent', async () => {
  const reports: IndexReport[] = []
  const problems: unknown[] = []
  const options = {
    watchKnowledge: true,
    onKnowledge: (report: IndexReport) => void reports.push(report),
    onProblem: (problem: unknown) => void problems.push(problem),
  }
  const { close, reload } = await openAgent(settingsWith({}), options)
  try {
    await expect.poll(() => reports, { timeout: 20_000 }).toEqual([{ documents: 1, indexed: 1, removed: 0, problems: [] }])
    await reload(settingsWith({})) // the same folders are not opened again
    writeFileSync(join(folder, 'docs/b.md'), '# B\npears')
    await expect.poll(() => reports.at(-1), { timeout: 20_000 }).toMatchObject({ documents: 2 })
  } finally {
    await close()
  }
  const before = reports.length
  writeFileSync(join(folder, 'docs/c.md'), '# C')
  await new Promise((resolve) => setTimeout(resolve, 600))
  expect(reports).toHaveLength(before)
  expect(problems).toEqual([])
})

it('an index that can not be opened is reported, a later try works, and the agent can be closed', async () => {
  const data = join(folder, 'data')
  const problems: unknown[] = []
  const { close, agent } = await openAgent(settingsWith({ data }), { onProblem: (problem) => void problems.push(problem) })
  writeFileSync(join(data, 'knowledge'), 'a file in place of the folder')
  expect((await agent.run('c', 'Which apples are there?').result).exitReason).toBe('complete')
  expect(JSON.stringify(await agent.archive.timeline('c'))).toContain('search_knowledge_failed')
  rmSync(join(data, 'knowledge'))
  expect((await agent.run('d', 'Which apples are there?').result).answer).toContain('apples')
  writeFileSync(join(folder, 'docs/b.md'), '# B')
  await close()
  expect(problems).toEqual([])
})

it('the data folder is never a part of the knowledge base', async () => {
  mkdirSync(join(folder, 'docs/data/blobs'), { recursive: true })
  writeFileSync(join(folder, 'docs/data/blobs/secret.txt'), 'the words of another user')
  const found = await indexKnowledge(settingsWith({}), {})
  expect(found?.documents.map(({ path }) => path)).toEqual(['ks:docs/a.md'])
  expect(found?.report.problems).toEqual([])
})
