import { expect, it } from 'vitest'
import type { Change } from '../../core/timeline/change.ts'
import { defaultAgentSettings } from '../settings.ts'
import { openProgress } from '../turn/progress.ts'
import { restoreProgress } from './resume-turn.ts'

const ts = '2026-01-01T00:00:00.000Z'
const opened = openProgress(ts, defaultAgentSettings, [])
const resumed = (...changes: readonly Change[]) =>
  restoreProgress(
    opened,
    't1',
    { changes: [{ type: 'turn.opened', turn_id: 't1', ts }, ...changes], events: new Map() },
    defaultAgentSettings,
    () => undefined,
  )

it('restores that the turn has used react.hide, so that its prompts keep their cache points', () => {
  const hidden = (reason: 'hide' | 'cache_ttl'): Change => ({ type: 'blocks.hidden', ids: ['b_1'], replacement_text: '', reason })
  expect([resumed(hidden('hide')).hasHidden, resumed(hidden('cache_ttl')).hasHidden]).toEqual([true, false])
})

it('counts decisions, but not calls for a title or a summary', () => {
  const heard = (role?: 'gate' | 'compaction'): Change => ({
    type: 'response.received',
    turn_id: 't1',
    ts,
    iteration: 0,
    call_id: 'c',
    raw: '',
    finish_reason: 'stop',
    ...(role && { role }),
  })
  const { iteration, budget } = resumed(heard('gate'), heard(), heard('compaction'), heard())
  expect([iteration, budget.rounds]).toEqual([2, 2])
})
