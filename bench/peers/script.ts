/** What a scripted model answers in one round: text in pieces, and then calls of the tool. */
export interface Response {
  readonly chunks: readonly string[]
  readonly calls: readonly { readonly id: string; readonly args: { readonly a: number; readonly b: number } }[]
}

/** One request as the cache of a provider sees it: the texts in order, and for each text whether it has a cache mark. */
export interface RecordedRequest {
  readonly system: string
  readonly isSystemMarked: boolean
  readonly parts: readonly { readonly text: string; readonly isMarked: boolean }[]
}

/** The part of a workload that is the same for every framework: the instructions, the tool and what the model answers. */
export interface Script {
  readonly instructions: string
  /** The greatest number of rounds of a turn. */
  readonly maxRounds: number
  /** The tool `add`. */
  run(args: { readonly a: number; readonly b: number }): unknown
  /** The response of a round. The first round of a turn has the number 0. */
  respond(round: number): Response
  /** A text that is new in every round, and that the model has to see. */
  readonly status?: () => string
  /** Called with each request of the model. */
  readonly onRequest?: (request: RecordedRequest) => void
  /** Called before each response. A paced model waits here. */
  readonly beforeResponse?: () => Promise<void> | void
}

export const toolName = 'add'
export const toolDescription = 'Adds two numbers.'
export const chunkLength = 20

/** Whether a text is what `status` of a script has returned. */
export const isStatus = (text: string): boolean => text.startsWith('[LIVE STATUS')

export const chunksOf = (text: string): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / chunkLength) }, (_, index) => text.slice(index * chunkLength, (index + 1) * chunkLength))

const thought = chunksOf('The next number is added to what is there already.')
const answer = chunksOf('All of it is added up.')
let callCount = 0

/** A script that calls the tool in every round but the last, and then answers. */
export function addingScript(rounds: number, more: Partial<Script> & { readonly callsPerRound?: number } = {}): Script {
  const { callsPerRound = 1, ...rest } = more
  const calls = () => Array.from({ length: callsPerRound }, () => ({ id: `call_${++callCount}`, args: { a: 1, b: 2 } }))
  return {
    instructions: 'You add up numbers.',
    maxRounds: rounds + 1,
    run: ({ a, b }) => ({ sum: a + b }),
    respond: (round) => (round < rounds - 1 ? { chunks: thought, calls: calls() } : { chunks: answer, calls: [] }),
    ...rest,
  }
}

/** Yields the pieces of a response. Calls `beforeResponse` of the script first. */
export async function* play(script: Script, response: Pick<Response, 'chunks'>): AsyncGenerator<string> {
  await script.beforeResponse?.()
  yield* response.chunks
}

/** How many responses the model has given since the last message of the user. Other messages at the end, such as a status, do not count. */
export function roundOf<Message>(messages: readonly Message[], roleOf: (message: Message) => 'user' | 'assistant' | 'other'): number {
  let round = 0
  for (let index = messages.length - 1; index >= 0; index--) {
    const role = roleOf(messages[index] as Message)
    if (role === 'user') break
    if (role === 'assistant') round++
  }
  return round
}

/** An agent of one framework, with a script. All methods run whole turns. */
export interface Peer {
  /** Runs one turn, streams its text to `onText`, and returns after the turn has ended. */
  turn(conversation: string, text: string, onText?: (text: string) => void): Promise<void>
  /**
   * Puts `rounds` rounds of earlier turns into the history of a conversation. The model is not called if the framework can add messages
   * without it.
   */
  seed(conversation: string, rounds: number): Promise<void>
  /** Continues the turn of a killed process in the way that the documentation of the framework describes. */
  resume?(conversation: string): Promise<void>
  /** Serves turns over HTTP, with the server of the framework if it has one. */
  serve?(): Promise<ServedPeer>
  close(): Promise<void>
}

/** A running server that runs a turn for each request. */
export interface ServedPeer {
  readonly port: number
  close(): Promise<void>
}

/** The module `peer.mjs` of a framework. */
export interface PeerModule {
  /** Modules that a program imports before its first turn. */
  readonly imports: readonly string[]
  /**
   * Set if the framework has no way to show the model a text that is new in every round. The tables then show this word in place of a
   * number.
   */
  readonly hasNoStatus?: string
  /**
   * Opens an agent. With a folder, the agent stores its conversations durably, in the form that the documentation of the framework
   * recommends for one process.
   */
  open(options: { readonly script: Script; readonly folder?: string }): Promise<Peer>
  /** Sends one message to the server of `serve` and waits for the end of its turn. Without this function, `ask` of `http.ts` is used. */
  ask?(base: string, conversation: string, text: string): Promise<void>
}
