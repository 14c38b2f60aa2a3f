import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { effectiveSettings, environmentLayer } from './config.ts'
import { localScope } from './core/scope.ts'
import { createTestJournal, publishTurn, relsOf } from './testing/conformance/workspace-fixture.ts'
import { openStore, openWorkspaces } from './wiring.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-wiring-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

describe('workspaces on disk', () => {
  it.each(['custom', 'git'] as const)('are of the kind that the settings name: %s', async (kind) => {
    const remote = join(mkdtempSync(join(root, 'o-')), 'origin.git')
    execFileSync('git', ['init', '--quiet', '--bare', remote])
    const data = mkdtempSync(join(root, 'd-'))
    const settings = effectiveSettings([
      environmentLayer({ DAYBOOK_DATA: data, DAYBOOK_WORKSPACE: kind, DAYBOOK_WORKSPACE_REMOTE: remote }),
    ]).settings
    const store = await openStore(settings)
    const workspaces = await openWorkspaces(settings, store.blobs)
    expect(workspaces.implementation).toBe(kind)
    const [workspace, journal] = [await workspaces.open(localScope, 'c1'), createTestJournal()]
    await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1' })
    expect(await relsOf(await (await openWorkspaces(settings, store.blobs)).open(localScope, 'c1'), 'turn_1', journal)).toEqual(['app/a'])
    await store.close()
  })
})
