/** A section of docs/proof.md: a command, and the lines of its output that the page shows. */
export interface Section {
  readonly name: string
  readonly title: string
  readonly about: string
  /** What `node` runs, or `npx` for the test runner. */
  readonly command: readonly [program: 'node' | 'npx', ...args: readonly string[]]
  /** After this time the command is ended, and the page says so. */
  readonly minutes: number
  /** Whether the page shows a line of the output. Without it, all lines are shown. */
  readonly shows?: RegExp
}

const bench = (...names: readonly string[]) => ['node', 'bench/run.ts', ...names] as const
const tests = (...files: readonly string[]) => ['npx', 'vitest', 'run', '--project', 'daybook', ...files] as const

/** The sections of the page, in its order. Those with times come last, because the others load the machine. */
export const sections: readonly Section[] = [
  {
    name: 'replicas',
    title: 'Three replicas, killed, frozen and cut off',
    about:
      'Three replicas share one PostgreSQL: one accepts messages, one runs turns, and one does both. Messages, steers, stops and approvals go to ' +
      'random replicas, and so do two followers of each conversation. Meanwhile processes are killed, one is frozen beyond its leases and woken, ' +
      'and the database is restarted. In the second run Redis carries the live events, and is flushed and restarted, too. Every accepted message ' +
      'is answered, and no entry, effect or model response is lost or made twice. The database notes which process wrote each row, the tool ' +
      'notes its effects, and the model notes its calls. An answer counts as paid twice if the model was called for it after it was stored. ' +
      'A request that was refused with 503, or whose connection was lost, is sent again and does not count as failed.',
    command: bench('replica-faults'),
    minutes: 40,
  },
  {
    name: 'cache',
    title: 'What the prompt cache saves',
    about:
      'The cost of all prompts of 20 turns against the lowest possible cost, and beside it what other ways to mark a prompt would cost. ' +
      'Tokens are counted, so the numbers are the same on every machine.',
    command: bench('cost'),
    minutes: 5,
  },
  {
    name: 'compaction',
    title: 'What is left after compactions',
    about:
      'Random conversations are compacted 1, 3 and 10 times. A text counts if it is visible, or if one read of a visible path returns it: ' +
      'files, steps of plans, preferences, the last requests and sources.',
    command: tests('test/prompt/recoverability.test.ts'),
    minutes: 5,
    shows: /^recoverability after/,
  },
  {
    name: 'recall',
    title: 'What memory finds',
    about:
      'Questions about earlier conversations, beside plain BM25. `npm run bench -- recall --data FILE` does the same for files in the shape ' +
      'of LoCoMo or LongMemEval-S.',
    command: bench('recall'),
    minutes: 10,
  },
  {
    name: 'storage',
    title: 'Storage: time and growth',
    about: 'SQLite and PostgreSQL against bare inserts of the same bytes on the same machine, and the bytes that a round writes.',
    command: bench('store', 'postgres'),
    minutes: 15,
  },
  {
    name: 'rounds',
    title: 'Rounds, streams and prompts',
    about: 'The overhead of the runtime itself. Each line is a ratio within one run, with its budget.',
    command: bench('decision', 'fold', 'json', 'loop', 'render', 'stream', 'timeline', 'tools', 'types', 'waits'),
    minutes: 20,
  },
  {
    name: 'parts',
    title: 'Sandbox, documents, web, files, server and page',
    about: 'Each against the bare program or library that does the same work, or against a fixed budget.',
    command: bench('documents', 'inspect', 'page', 'relay', 'replicas', 'replicas-relay', 'sandbox', 'web', 'workspace'),
    minutes: 25,
  },
]
