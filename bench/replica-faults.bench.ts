import { type ReplicaFaults, type ReplicaReport, runReplicaFaults } from '../test/support/load/replica-faults.ts'

const number = (name: string, usual: number): number => Number(process.env[name] ?? usual)

const fullRun: ReplicaFaults = {
  conversations: number('FAULT_CONVERSATIONS', 200),
  roles: ['web', 'worker', 'both'],
  kills: number('FAULT_KILLS', 50),
  freezes: number('FAULT_FREEZES', 1),
  freezeBy: 'time',
  databaseRestarts: number('FAULT_DATABASE_RESTARTS', 5),
  everyMs: number('FAULT_EVERY_MS', 1_500),
  pauseMs: number('FAULT_PAUSE_MS', 15_000),
}
/** A run of some minutes. */
const shortRun: ReplicaFaults = { ...fullRun, conversations: 40, kills: 12, databaseRestarts: 2, pauseMs: 4_000 }

/**
 * Runs three replicas with one database under load, and kills and freezes processes meanwhile. There are two runs: one with PostgreSQL
 * alone, and one with PostgreSQL and Redis. Prints how much was done, and then the counts of errors, which must be 0. `--short` runs for
 * some minutes. The environment variables FAULT_* change the long run.
 */
export async function bench(options: readonly string[] = []): Promise<void> {
  const run = options.includes('--short') ? shortRun : fullRun
  const redisRestarts = options.includes('--short') ? 1 : number('FAULT_REDIS_RESTARTS', 5)
  const reports: ReplicaReport[] = []
  for (const more of [{}, { redisRestarts }]) {
    const report = await runReplicaFaults({ ...run, ...more })
    for (const error of report.errors.slice(0, 5)) console.log(error)
    reports.push(report)
  }
  const row = (cells: readonly (string | number)[]) => {
    const [name = '', ...values] = cells.map(String)
    console.log(`  ${name.padEnd(62)}${values.map((value) => value.padStart(12)).join('')}`)
  }
  row([`${run.conversations} conversations on three replicas`, 'PostgreSQL', 'with Redis'])
  for (const [name, value] of done) row([name, ...reports.map(value)])
  row(['must be 0:', '', ''])
  for (const [name, value] of wrong) row([name, ...reports.map(value)])
  if (wrong.some(([, value]) => reports.some((report) => value(report) !== 0))) process.exitCode = 1
}

/** A row of the table, and its value in a report. */
type Row = readonly [name: string, value: (report: ReplicaReport) => string | number]

const total = (kills: ReplicaReport['kills']) => Object.values(kills).reduce((sum, count) => sum + count, 0)
const seconds = (value: number) => `${value.toFixed(1)} s`

const done: readonly Row[] = [
  ['replicas killed (SIGKILL)', ({ kills }) => total(kills)],
  ...(['web', 'worker', 'both'] as const).map((role): Row => [`of these, with the role ${role}`, ({ kills }) => kills[role] ?? 0]),
  ['replicas frozen longer than their leases, and woken', ({ freezes }) => freezes],
  ['immediate restarts of PostgreSQL', ({ databaseRestarts }) => databaseRestarts],
  ['Redis flushed and restarted', ({ redisRestarts: count }) => count],
  ['messages accepted', ({ messages }) => messages],
  ['steers and stops accepted', ({ steers }) => steers],
  ['decisions about approvals', ({ decisions }) => decisions],
  ['calls of the model', ({ calls }) => calls],
  ['effects of the tool', ({ effects }) => effects],
  ['calls whose outcome was reported as unknown', ({ unknownOutcomes }) => unknownOutcomes],
  ['entries in the journals', ({ entries }) => entries],
  ['entries that followers received', ({ received }) => received],
  ['live events that followers received', ({ liveEvents }) => liveEvents],
  ['most conversations that waited at a time (/metrics)', ({ mostWaiting }) => mostWaiting],
  ['longest wait of a conversation (/metrics)', ({ longestWaitSeconds }) => seconds(longestWaitSeconds)],
  ['oldest lease (/metrics)', ({ oldestLeaseSeconds }) => seconds(oldestLeaseSeconds)],
]

/** Counts of errors. All of them must be 0. */
const wrong: readonly Row[] = [
  ['messages without an answer', ({ unanswered }) => unanswered],
  ['messages read twice', ({ repeatedEvents }) => repeatedEvents],
  ['entries lost', ({ lostEntries }) => lostEntries],
  ['entries that a follower missed', ({ missedEntries }) => missedEntries],
  ['entries that a follower got twice', ({ doubledEntries }) => doubledEntries],
  ['conversations whose followers saw different entries', ({ differentJournals }) => differentJournals],
  ['effects repeated', ({ repeatedEffects }) => repeatedEffects],
  ['answers of the model paid twice', ({ answersPaidTwice }) => answersPaidTwice],
  ['rows of a process that had lost the conversation', ({ staleEntries }) => staleEntries],
  ['conversations left waiting or parked', ({ waitingAtEnd, parkedAtEnd }) => waitingAtEnd + parkedAtEnd],
  ['requests that failed', ({ errors }) => errors.length],
]
