/** A section of docs/proof.md: commands, and the lines of their output that the page shows. */
export interface Section {
  readonly name: string
  readonly title: string
  readonly about: string
  readonly commands: readonly Command[]
  /** Runs before the commands. The page does not show its output. */
  readonly prepare?: Command
  /** After this time the commands are ended, and the page says so. */
  readonly minutes: number
  /** What the page shows of a line of the output. Undefined leaves it out. Without this function, all lines are shown as they are. */
  show?(line: string): string | undefined
  /** Whether the output is Markdown. Otherwise it is shown as it is printed. */
  readonly isMarkdown?: true
  /** The commands that run with `--full`. They take much longer. */
  readonly full?: Pick<Section, 'commands' | 'minutes'>
}

/** What `node` or `npm` runs, or `npx` for the test runner. */
export type Command = readonly [program: 'node' | 'npm' | 'npx', ...args: readonly string[]]

/** Some benches measure the package as users get it. */
const build: Command = ['npm', 'run', 'build']

const benches = (...names: readonly string[]) => names.map((name): Command => ['node', 'bench/run.ts', name])
const tests = (...files: readonly string[]): Command => ['npx', 'vitest', 'run', '--project', 'daybook', ...files]

/** The sections of the page, in its order. The sections that measure times come last, because the other sections load the machine. */
export const sections: readonly Section[] = [
  {
    name: 'crash',
    title: 'A turn, killed at each of its entries',
    about:
      'A process with a turn of thirty rounds is killed (SIGKILL) right before and right after each entry, and at random points of ' +
      'responses and tools. Another process continues the turn. Each line counts the kills with the same outcome. The column `equal` ' +
      'says whether the turn equals a turn that was not killed. If a tool was running when its process was killed, the outcome of ' +
      'the call is unknown, and the journal says so. After a kill before the first entry, there is nothing to continue.',
    commands: [tests('test/faults/loop-crash.test.ts')],
    minutes: 10,
    show(line) {
      if (/^(?:one turn of|killed at random)|^lost blocks/.test(line)) return line.replace(/ {2}killed$/, '')
      // the last column lists all kills
      return /^ +\d+ +\d+ +\d+ +\d+ +\S+ +\d+ {2}/.exec(line)?.[0].trimEnd()
    },
  },
  {
    name: 'torture',
    title: 'Stores under torture',
    about:
      'The table of `daybook torture`: processes are killed, frozen, and refused after they have lost their claim. You can run the ' +
      'command against your own store ([Torture a store](guides/torture.md) explains rows and columns).',
    commands: [['node', 'scripts/proof/torture.ts', 'rows']],
    minutes: 20,
  },
  {
    name: 'obligations',
    title: 'Six obligations of an agent that resumes',
    about: 'The rows of `daybook torture` about the guarantees for users when an agent resumes a turn after a crash.',
    commands: [['node', 'scripts/proof/torture.ts', 'obligations']],
    minutes: 15,
  },
  {
    name: 'replicas',
    title: 'Three replicas, killed, frozen and cut off',
    about:
      'Three replicas share one PostgreSQL: one accepts messages, one runs turns, and one does both. Messages, steers, stops and ' +
      'approvals are sent to random replicas. Two followers of each conversation also connect to random replicas. During the run, ' +
      'processes are killed, one process is frozen for longer than its leases and then continued, and the database is restarted. In ' +
      'the second run, live events are sent over Redis, which is also flushed and restarted. Every accepted message is answered, and ' +
      'no entry, effect or model response is lost or made twice. The database records which process wrote each row, the tool records ' +
      'its effects, and the model records its calls. An answer is counted as paid twice if the model was called for it after it was ' +
      'stored. If a request was refused with 503, or its connection was lost, it is sent again and does not count as failed. `npm ' +
      'run proof -- replicas --full` runs 200 conversations and 50 kills.',
    commands: [['node', 'bench/run.ts', 'replica-faults', '--short']],
    minutes: 20,
    full: { commands: benches('replica-faults'), minutes: 40 },
  },
  {
    name: 'attacks',
    title: 'Hostile input',
    about:
      'Hostile input of all kinds: requests to the server (HTTP), files and documents, the output of models and tools, programs in ' +
      'the sandbox, web pages and addresses (SSRF), and texts that the page shows. [The table of ' +
      'attacks](security.md#the-table-of-attacks) names the test of each line.',
    commands: [['node', 'scripts/attacks.ts']],
    minutes: 60,
    show: (line) => (/^ *\d+ attempts, \d+ succeeded|^not run: /.test(line) ? line : undefined),
  },
  {
    name: 'cache',
    title: 'What the prompt cache saves',
    about:
      'The cost of all prompts of 20 turns, compared with the lowest possible cost and with the cost of other ways to mark a prompt. ' +
      '`one mark on the last part` is the usual way. The last lines show the prompts of a whole agent in both dialects. The costs ' +
      'are computed from token counts, so the numbers are the same on every machine.',
    commands: benches('cost'),
    minutes: 5,
  },
  {
    name: 'compaction',
    title: 'What is left after compactions',
    about:
      'Random conversations are compacted 1, 3 and 10 times. The table counts texts that are still visible, or that one read of a ' +
      'visible path returns: files, steps of plans, preferences, the last requests and sources.',
    commands: [tests('test/prompt/recoverability.test.ts')],
    minutes: 5,
    show: (line) => (line.startsWith('recoverability after') ? line : undefined),
  },
  {
    name: 'recall',
    title: 'What memory finds',
    about:
      'Questions about earlier conversations, answered by the memory search and by plain BM25. The conversations are part of this ' +
      'repository. `npm run proof -- recall --dataset FILE` uses files in the format of LoCoMo or LongMemEval-S instead.',
    commands: benches('recall'),
    minutes: 15,
  },
  {
    name: 'storage',
    title: 'Storage: time and growth',
    about:
      'The time of SQLite and PostgreSQL compared with plain inserts of the same bytes on the same machine, the bytes that a round ' +
      'writes, and the cost of a step when a conversation or a store has one size, ten times and a hundred times this size.',
    commands: benches('store', 'postgres', 'growth'),
    prepare: build,
    minutes: 30,
  },
  {
    name: 'rounds',
    title: 'Rounds, streams and prompts',
    about: 'The overhead of Daybook itself. Each line is a ratio within one run, with its budget.',
    commands: benches('decision', 'fold', 'json', 'loop', 'render', 'stream', 'timeline', 'tools', 'types', 'waits'),
    minutes: 25,
  },
  {
    name: 'package',
    title: 'The package as users have it',
    about:
      'The packed package in new processes, with a caller that reads the events, compared with a hand-written program. Each number ' +
      'is the best of several processes.',
    commands: benches('watched'),
    prepare: build,
    minutes: 20,
  },
  {
    name: 'scaling',
    title: 'Several servers',
    about:
      'The cost of a turn for a worker and for PostgreSQL, and how much more several servers can do than one. [Scaling](scaling.md) ' +
      'uses these numbers.',
    commands: benches('scaling', 'replicas', 'relay', 'replicas-relay'),
    minutes: 25,
  },
  {
    name: 'parts',
    title: 'Sandbox, documents, web, files and page',
    about: 'Each part is compared with the program or library that does the same work without Daybook, or with a fixed budget.',
    commands: benches('documents', 'import', 'inspect', 'page', 'sandbox', 'web', 'workspace'),
    minutes: 40,
  },
  {
    name: 'peers',
    title: 'Daybook and other frameworks',
    about:
      'The same work with Daybook and with other frameworks, each written as its documentation recommends. `npm run bench:peers` ' +
      'makes the tables. `npm run proof -- peers --full` also makes them.',
    commands: [['node', 'scripts/proof/peers.ts']],
    minutes: 1,
    isMarkdown: true,
    full: { commands: [['node', 'scripts/proof/peers.ts', '--run']], minutes: 90 },
  },
]
