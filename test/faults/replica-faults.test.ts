import { expect, it } from 'vitest'
import { runReplicaFaults } from '../support/load/replica-faults.ts'
import { hasPostgres } from '../support/postgres.ts'

it.skipIf(!hasPostgres)(
  'three replicas are killed and frozen, and their database is restarted: every message is answered, every follower gets each entry once, and nothing is repeated',
  async () => {
    const report = await runReplicaFaults({
      conversations: 6,
      replicas: 3,
      kills: 3,
      freezes: 1,
      freezeMs: 2_000,
      databaseRestarts: 1,
      everyMs: 700,
      pauseMs: 500,
    })
    expect(report).toMatchObject({
      unanswered: 0,
      missedEntries: 0,
      doubledEntries: 0,
      repeatedEvents: 0,
      repeatedEffects: 0,
      answersPaidTwice: 0,
      staleEntries: 0,
      errors: [],
    })
    expect(report.messages).toBeGreaterThan(6)
  },
  300_000,
)
