import { describe, expect, it } from 'vitest'
import { type ReplicaFaults, runReplicaFaults } from '../support/load/replica-faults.ts'
import { hasPostgres } from '../support/postgres.ts'
import { hasRedis } from '../support/redis.ts'

const run: ReplicaFaults = {
  conversations: 6,
  roles: ['web', 'worker', 'both'],
  kills: 3,
  freezes: 1,
  freezeBy: 'clock',
  databaseRestarts: 1,
  everyMs: 700,
  pauseMs: 500,
}

const nothingWrong = {
  unanswered: 0,
  missedEntries: 0,
  doubledEntries: 0,
  differentJournals: 0,
  repeatedEvents: 0,
  lostEntries: 0,
  repeatedEffects: 0,
  answersPaidTwice: 0,
  staleEntries: 0,
  waitingAtEnd: 0,
  parkedAtEnd: 0,
  errors: [],
}

describe.skipIf(!hasPostgres)('three replicas: one accepts messages, one runs turns, and one does both', () => {
  it('are killed and frozen, and their database is restarted: every message is answered, every follower gets each entry once, and nothing is repeated', async () => {
    const report = await runReplicaFaults(run)
    expect(report).toMatchObject({ ...nothingWrong, kills: { web: 1, worker: 1, both: 1 } })
    expect(report.messages).toBeGreaterThan(6)
    expect(report.effects).toBeGreaterThan(0)
  }, 400_000)

  it.skipIf(!hasRedis)(
    'the same with live events over Redis, which is emptied and restarted',
    async () => {
      const report = await runReplicaFaults({ ...run, redisRestarts: 2 })
      expect(report).toMatchObject({ ...nothingWrong, redisRestarts: 2 })
      expect(report.messages).toBeGreaterThan(6)
      expect(report.liveEvents).toBeGreaterThan(0)
    },
    400_000,
  )
})
