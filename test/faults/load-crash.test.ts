import { expect, it } from 'vitest'
import { runWithFaults } from '../support/load/fault-run.ts'

const nothingWrong = {
  lost: 0,
  doubled: 0,
  repeatedEffects: 0,
  missingEffects: 0,
  missedEntries: 0,
  doubledEntries: 0,
  errors: [],
}

it('a server under load that is killed again and again loses, doubles and repeats nothing, and every follower gets every entry once', async () => {
  const report = await runWithFaults({ conversations: 40, seconds: 10, killEveryMs: 2_000, servers: 1 })
  expect(report).toMatchObject(nothingWrong)
  expect(report.kills).toBeGreaterThan(0)
  expect(report.accepted).toBeGreaterThan(10)
}, 180_000)

it('two servers on one folder, one killed at a time: followers at both get every entry once, and nothing is lost or repeated', async () => {
  const report = await runWithFaults({ conversations: 20, seconds: 8, killEveryMs: 2_000, servers: 2 })
  expect(report).toMatchObject(nothingWrong)
  expect(report.kills).toBeGreaterThan(0)
  expect(report.accepted).toBeGreaterThan(10)
}, 180_000)
