import { type ReplicaFaults, runReplicaFaults } from '../test/support/load/replica-faults.ts'

const number = (name: string, usual: number): number => Number(process.env[name] ?? usual)

const run: ReplicaFaults = {
  conversations: number('FAULT_CONVERSATIONS', 200),
  replicas: 3,
  kills: number('FAULT_KILLS', 50),
  freezes: number('FAULT_FREEZES', 1),
  freezeMs: number('FAULT_FREEZE_MS', 40_000), // longer than a lease
  databaseRestarts: number('FAULT_DATABASE_RESTARTS', 5),
  everyMs: number('FAULT_EVERY_MS', 1_500),
  pauseMs: number('FAULT_PAUSE_MS', 4_000),
}

/** Three replicas with one database under load, while processes are killed and frozen. Prints a table for docs. */
export async function bench(): Promise<void> {
  const { errors, ...numbers } = await runReplicaFaults(run)
  console.log(`| ${run.conversations} conversations on three replicas | |`)
  console.log('|---|---:|')
  for (const [what, value] of Object.entries({ ...numbers, errors: errors.length })) console.log(`| ${names[what] ?? what} | ${value} |`)
  for (const error of errors.slice(0, 5)) console.log(error)
}

const names: Readonly<Record<string, string>> = {
  kills: 'replicas killed (SIGKILL)',
  freezes: 'replicas frozen longer than their lease',
  databaseRestarts: 'immediate restarts of PostgreSQL',
  messages: 'messages accepted',
  steers: 'steers and stops',
  decisions: 'decisions about approvals',
  entries: 'entries that followers received',
  liveEvents: 'live events that followers received',
  unanswered: 'messages without an answer',
  missedEntries: 'entries that a follower missed',
  doubledEntries: 'entries that a follower got twice',
  repeatedEvents: 'messages read twice',
  repeatedEffects: 'effects repeated',
  answersPaidTwice: 'answers of the model paid twice',
  staleEntries: 'entries of a process that had lost the conversation',
}
