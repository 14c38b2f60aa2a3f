/** A framework that is compared. Its code is in the folder with its name. */
export interface PeerEntry {
  readonly name: string
  readonly title: string
  /** Workloads that this peer does not run, and why. */
  readonly leavesOut: Readonly<Record<string, string>>
}

/** A number or a word that a workload reports. */
export interface Metric {
  readonly id: string
  readonly title: string
  readonly unit: string
  /**
   * Which value is better. The best value of several runs is shown. With `words`, values are not compared, and the value of the last run is
   * shown.
   */
  readonly better: 'less' | 'more' | 'words'
}

/** A task that every framework runs in the same way. Its code is in `workloads/<name>.ts`. */
export interface Workload {
  readonly name: string
  readonly title: string
  readonly about: string
  readonly metrics: readonly Metric[]
  /** In how many new processes each framework runs the workload. */
  readonly runs: number
  /** The longest time of one run in seconds. */
  readonly seconds: number
}

export const peers: readonly PeerEntry[] = [
  {
    name: 'floor',
    title: 'no framework',
    leavesOut: {
      cache: 'the ideal cost is the floor of this workload',
      import: 'it has no package',
      kill: 'a loop of a few lines makes no promise for a crash',
    },
  },
  { name: 'daybook', title: 'Daybook', leavesOut: {} },
  { name: 'pi', title: 'pi', leavesOut: {} },
  { name: 'ai-sdk', title: 'AI SDK', leavesOut: {} },
  { name: 'openai-agents', title: 'OpenAI Agents', leavesOut: {} },
  { name: 'langgraph', title: 'LangGraph.js', leavesOut: {} },
  { name: 'mastra', title: 'Mastra', leavesOut: {} },
  { name: 'flue', title: 'Flue', leavesOut: {} },
]

export const workloads: readonly Workload[] = [
  {
    name: 'rounds',
    title: 'Overhead of a round',
    about:
      'A turn of 50 rounds in memory. The model streams a sentence and a call of a tool that adds two numbers, and a client reads the stream. ' +
      'Cold: the first 50 rounds of a new process. Hot: after a warm-up of 1.5 seconds. Processor time of the process.',
    metrics: [
      { id: 'cold', title: 'cold', unit: 'µs', better: 'less' },
      { id: 'hot', title: 'hot', unit: 'µs', better: 'less' },
    ],
    runs: 3,
    seconds: 60,
  },
  {
    name: 'bytes',
    title: 'Rounds on disk',
    about:
      'One conversation of 100 turns with 10 rounds each, in the durable form of each framework on a local disk. The bytes are those that the ' +
      'process passes to the system, so they include the log of a database.',
    metrics: [
      { id: 'first', title: 'written per round, turns 2 to 11', unit: 'KB', better: 'less' },
      { id: 'last', title: 'written per round, turns 91 to 100', unit: 'KB', better: 'less' },
      { id: 'firstMs', title: 'round, turns 2 to 11', unit: 'ms', better: 'less' },
      { id: 'lastMs', title: 'round, turns 91 to 100', unit: 'ms', better: 'less' },
    ],
    runs: 1,
    seconds: 300,
  },
  {
    name: 'history',
    title: 'The next round after 10,000 messages',
    about:
      'A conversation in memory with 10,000 messages of earlier turns, all of which the model reads. The ' +
      'fastest of 5 turns with 3 rounds, in processor time.',
    metrics: [{ id: 'round', title: 'round', unit: 'ms', better: 'less' }],
    runs: 3,
    seconds: 240,
  },
  {
    name: 'stream',
    title: 'Streaming an answer of 1 MB',
    about: 'One answer of 1 MB in pieces of 20 characters, which a client reads. The fastest of 3, in processor time.',
    metrics: [{ id: 'chunk', title: 'per piece', unit: 'µs', better: 'less' }],
    runs: 3,
    seconds: 180,
  },
  {
    name: 'cache',
    title: 'Cache bill',
    about:
      'What all prompts of 20 turns with 6 rounds and results of 2 KB cost, in multiples of an ideal cache for the same prompts. Marks: the ' +
      'rules of Anthropic, with the cache marks that the framework sets as its documentation says. Prefix: an automatic cache. Status: a text ' +
      'that is new in every round. The last columns are the cost with marks (or without, if the framework sets none), in thousands of tokens ' +
      'at the full price. They also show how long the prompts are.',
    metrics: [
      { id: 'plainMarks', title: 'plain, marks', unit: '× ideal', better: 'less' },
      { id: 'statusMarks', title: 'status, marks', unit: '× ideal', better: 'less' },
      { id: 'callsMarks', title: '12 calls in a response, marks', unit: '× ideal', better: 'less' },
      { id: 'plainPrefix', title: 'plain, prefix', unit: '× ideal', better: 'less' },
      { id: 'statusPrefix', title: 'status, prefix', unit: '× ideal', better: 'less' },
      { id: 'callsPrefix', title: '12 calls, prefix', unit: '× ideal', better: 'less' },
      { id: 'plainTokens', title: 'plain, cost', unit: 'k tokens', better: 'less' },
      { id: 'statusTokens', title: 'status, cost', unit: 'k tokens', better: 'less' },
    ],
    runs: 1,
    seconds: 60,
  },
  {
    name: 'import',
    title: 'Import and installation',
    about:
      'Processor time of the imports that a program needs before its first turn, in a new process. Size of the folder node_modules after ' +
      '`npm install`, with and without optional packages.',
    metrics: [
      { id: 'cpu', title: 'import', unit: 'ms', better: 'less' },
      { id: 'size', title: 'installed', unit: 'MB', better: 'less' },
      { id: 'required', title: 'without optional packages', unit: 'MB', better: 'less' },
      { id: 'packages', title: 'packages', unit: '', better: 'less' },
    ],
    runs: 5,
    seconds: 60,
  },
  {
    name: 'many',
    title: '200 conversations at the same time',
    about: '200 conversations in memory with 10 rounds each. The model takes 5 ms per response, so the ideal is 50 ms. The fastest of 3.',
    metrics: [{ id: 'total', title: 'all turns', unit: 'ms', better: 'less' }],
    runs: 3,
    seconds: 60,
  },
  {
    name: 'http',
    title: 'Turns over HTTP',
    about:
      '32 clients send messages to a server with durable conversations, one turn after another, and read each stream to its end. A turn has 3 ' +
      'rounds, and the model takes 20 ms per response. Clients and server are two processes.',
    metrics: [{ id: 'turns', title: 'turns per second', unit: '/s', better: 'more' }],
    runs: 3,
    seconds: 60,
  },
  {
    name: 'kill',
    title: 'A process is killed in a tool',
    about:
      'The process is killed while the tool runs, in the durable form of the framework. A new process does what the documentation says to ' +
      'continue. If it can not continue, the user sends the message again. A turn needs 2 responses of the model.',
    metrics: [
      { id: 'continued', title: 'turn continued', unit: '', better: 'words' },
      { id: 'tool', title: 'tool', unit: '', better: 'words' },
      { id: 'model', title: 'responses paid', unit: '', better: 'words' },
    ],
    runs: 1,
    seconds: 120,
  },
]
