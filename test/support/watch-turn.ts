import type { Agent } from '../../src/agent/agent-interface.ts'
import { type Notice, readNotice } from '../../src/core/block/index.ts'
import type { LaneEvent, TurnEvent } from '../../src/core/event.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import { type Harness, noticesIn, type RecordedTurn } from '../../src/testing/harness.ts'

/** An action that runs once, after the first event for which `when` is true. */
export interface TimedAction {
  readonly when: (event: TurnEvent) => boolean
  readonly act: (harness: Harness) => Promise<unknown>
}

/** Runs a turn and performs the actions in order, each at its event. */
export async function runTurnWith(harness: Harness, input: string, ...actions: readonly TimedAction[]): Promise<RecordedTurn> {
  const turn = harness.agent.run(harness.conversationId, input)
  const events: TurnEvent[] = []
  const pending = [...actions]
  for await (const event of turn) {
    events.push(event)
    if (pending[0]?.when(event)) await pending.shift()?.act(harness)
  }
  return { ...(await turn.result), events, notices: noticesIn(events) }
}

/** Follows the conversation until `turns` turns are closed. `events` grows meanwhile. `ended` resolves when the last turn is closed. */
export function followToClose(agent: Agent, conversationId: string, { after = 0, turns = 1 }: { after?: number; turns?: number } = {}) {
  const events: TurnEvent[] = []
  const stop = new AbortController()
  let open = turns
  const ended = (async () => {
    for await (const event of agent.follow(conversationId, { after, signal: stop.signal })) {
      events.push(event)
      if (event.type === 'entry' && event.change.type === 'turn.closed' && --open === 0) stop.abort()
    }
  })()
  return { events, ended }
}

/** Whether an event shows text of the answer. After the first such event, the user sees a part of the answer. */
export const answering = (event: TurnEvent): boolean =>
  event.type === 'lane.delta' && event.delta.marker === 'answer' && event.delta.text !== ''

/** Returns a condition that is true once users have seen exactly this part of an answer. */
export function whenShown(text: string): (event: TurnEvent) => boolean {
  let shown = ''
  return (event) => {
    if (event.type === 'lane.delta' && event.delta.marker === 'answer') shown += event.delta.text
    return shown === text
  }
}

/** Whether an event completes the text of an answer. The turn may still continue. */
export const answered = (event: TurnEvent): boolean =>
  event.type === 'lane.delta' && event.delta.marker === 'answer' && event.delta.completed

export const toolStarted = (event: TurnEvent): boolean => event.type === 'status' && event.status === 'tool.started'

export const entryOfType =
  (type: string, nth = 1) =>
  (event: TurnEvent): boolean =>
    event.type === 'entry' && event.change.type === type && --nth === 0

export const steerWith =
  (text: string, options?: Parameters<Harness['agent']['steer']>[2]) =>
  ({ agent, conversationId }: Harness): Promise<unknown> =>
    agent.steer(conversationId, text, options)

export const sendWith =
  (text: string, options?: Parameters<Harness['agent']['send']>[2]) =>
  ({ agent, conversationId }: Harness): Promise<unknown> =>
    agent.send(conversationId, text, options)

export const stopTurn = ({ agent, conversationId }: Harness): Promise<unknown> => agent.stop(conversationId)

/** The events of all lanes, or of the lanes with this marker. */
export const deltasOf = (events: readonly TurnEvent[], marker?: string): readonly LaneEvent[] =>
  events.filter((event) => event.type === 'lane.delta').filter(({ delta }) => marker === undefined || delta.marker === marker)

export const laneText = (events: readonly TurnEvent[], marker: string): string =>
  deltasOf(events, marker)
    .map(({ delta }) => delta.text)
    .join('')

export async function noticesOf(harness: Harness): Promise<readonly Notice[]> {
  return blocksOf(await harness.timeline()).flatMap((block) => readNotice(block) ?? [])
}

export const codesOf = async (harness: Harness): Promise<readonly string[]> => (await noticesOf(harness)).map(({ code }) => code)

export const blockTypes = async (harness: Harness): Promise<readonly string[]> => blocksOf(await harness.timeline()).map(({ type }) => type)

/** How many decisions the model was asked for. */
export const decisions = ({ model }: Harness): number => model.requests.filter(({ role }) => role === 'decision').length

/** The `seq` of all entries among the events. */
export const seqs = (events: readonly TurnEvent[]): readonly number[] =>
  events.flatMap((event) => (event.type === 'entry' ? [event.seq] : []))

export const upTo = (last: number, from = 1): readonly number[] => Array.from({ length: last - from + 1 }, (_, n) => from + n)
