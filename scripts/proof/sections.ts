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
  /** The form that `--full` runs: it takes much longer. */
  readonly full?: Pick<Section, 'commands' | 'minutes'>
}

/** What `node` or `npm` runs, or `npx` for the test runner. */
export type Command = readonly [program: 'node' | 'npm' | 'npx', ...args: readonly string[]]

/** Some benches measure the package as users get it. */
const build: Command = ['npm', 'run', 'build']

const benches = (...names: readonly string[]) => names.map((name): Command => ['node', 'bench/run.ts', name])
const tests = (...files: readonly string[]): Command => ['npx', 'vitest', 'run', '--project', 'daybook', ...files]

/** The sections of the page, in its order. Those with times come last, because the others load the machine. */
export const sections: readonly Section[] = [
  {
    name: 'crash',
    title: 'A turn, killed at each of its entries',
    about:
      'A process with a turn of thirty rounds is killed (SIGKILL) right before and right after each entry, and at random points of responses ' +
      'and tools. Another process continues the turn. Each line counts the kills with the same outcome. `equal` compares the turn with one that was not killed. ' +
      'A tool that was running when its process was killed has an unknown outcome, and the journal says so. The kill before the first entry leaves nothing to continue.',
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
      'The kill, freeze and fence matrix of `daybook torture`, which you can run against your own store ([Torture a store](guides/torture.md) explains rows and columns).',
    commands: [['node', 'scripts/proof/torture.ts', 'rows']],
    minutes: 20,
  },
  {
    name: 'obligations',
    title: 'Six obligations of an agent that resumes',
    about: 'The rows of `daybook torture` about what an agent owes its users after a crash.',
    commands: [['node', 'scripts/proof/torture.ts', 'obligations']],
    minutes: 15,
  },
  {
    name: 'replicas',
    title: 'Three replicas, killed, frozen and cut off',
    about:
      'Three replicas share one PostgreSQL: one accepts messages, one runs turns, and one does both. Messages, steers, stops and approvals go to ' +
      'random replicas, and so do two followers of each conversation. Meanwhile processes are killed, one is frozen beyond its leases and woken, ' +
      'and the database is restarted. In the second run Redis carries the live events, and is flushed and restarted, too. Every accepted message ' +
      'is answered, and no entry, effect or model response is lost or made twice. The database notes which process wrote each row, the tool ' +
      'notes its effects, and the model notes its calls. An answer counts as paid twice if the model was called for it after it was stored. ' +
      'A request that was refused with 503, or whose connection was lost, is sent again and does not count as failed. `npm run proof -- replicas --full` runs 200 conversations and 50 kills.',
    commands: [['node', 'bench/run.ts', 'replica-faults', '--short']],
    minutes: 20,
    full: { commands: benches('replica-faults'), minutes: 40 },
  },
  {
    name: 'attacks',
    title: 'Hostile input',
    about:
      'What attackers send: to the server (HTTP), in files and documents, in the output of models and tools, in programs in the sandbox, in web pages and addresses (SSRF), and ' +
      'in texts that the page shows. [The table of attacks](security.md#the-table-of-attacks) names the test of each line.',
    commands: [['node', 'scripts/attacks.ts']],
    minutes: 60,
    show: (line) => (/^ *\d+ attempts, \d+ succeeded|^not run: /.test(line) ? line : undefined),
  },
  {
    name: 'cache',
    title: 'What the prompt cache saves',
    about:
      'The cost of all prompts of 20 turns against the lowest possible cost, and beside it what other ways to mark a prompt would cost: `one mark on ' +
      'the last part` is the usual way. The last lines are the prompts of a whole agent in both dialects. Tokens are counted, so the numbers are the same on every machine.',
    commands: benches('cost'),
    minutes: 5,
  },
  {
    name: 'compaction',
    title: 'What is left after compactions',
    about:
      'Random conversations are compacted 1, 3 and 10 times. A text counts if it is visible, or if one read of a visible path returns it: ' +
      'files, steps of plans, preferences, the last requests and sources.',
    commands: [tests('test/prompt/recoverability.test.ts')],
    minutes: 5,
    show: (line) => (line.startsWith('recoverability after') ? line : undefined),
  },
  {
    name: 'recall',
    title: 'What memory finds',
    about:
      'Questions about earlier conversations, beside plain BM25. The conversations are those of this repository. ' +
      '`npm run proof -- recall --dataset FILE` uses files in the shape of LoCoMo or LongMemEval-S instead.',
    commands: benches('recall'),
    minutes: 15,
  },
  {
    name: 'storage',
    title: 'Storage: time and growth',
    about:
      'SQLite and PostgreSQL against bare inserts of the same bytes on the same machine, the bytes that a round writes, and what a step costs at ' +
      'a size, ten times and a hundred times of it.',
    commands: benches('store', 'postgres', 'growth'),
    prepare: build,
    minutes: 30,
  },
  {
    name: 'rounds',
    title: 'Rounds, streams and prompts',
    about: 'The overhead of the runtime itself. Each line is a ratio within one run, with its budget.',
    commands: benches('decision', 'fold', 'json', 'loop', 'render', 'stream', 'timeline', 'tools', 'types', 'waits'),
    minutes: 25,
  },
  {
    name: 'package',
    title: 'The package as users have it',
    about:
      'The packed package in new processes, with a caller that reads the events, beside a hand-written program. Each number is the best of several processes.',
    commands: benches('watched'),
    prepare: build,
    minutes: 20,
  },
  {
    name: 'scaling',
    title: 'Several servers',
    about: 'What a turn costs a worker and PostgreSQL, and what several servers gain. [Scaling](scaling.md) computes with these numbers.',
    commands: benches('scaling', 'replicas', 'relay', 'replicas-relay'),
    minutes: 25,
  },
  {
    name: 'parts',
    title: 'Sandbox, documents, web, files and page',
    about: 'Each against the bare program or library that does the same work, or against a fixed budget.',
    commands: benches('documents', 'import', 'inspect', 'page', 'sandbox', 'web', 'workspace'),
    minutes: 40,
  },
  {
    name: 'peers',
    title: 'Daybook and other frameworks',
    about:
      'The same work with Daybook and with other frameworks, each written as its documentation recommends. `npm run bench:peers` makes the tables in a package of its own, and ' +
      '`npm run proof -- peers --full` does so, too.',
    commands: [['node', 'scripts/proof/peers.ts']],
    minutes: 1,
    isMarkdown: true,
    full: { commands: [['node', 'scripts/proof/peers.ts', '--run']], minutes: 90 },
  },
]
