import type { TurnEvent } from '../../src/core/event.ts'
import type { Harness, RecordedTurn } from '../../src/testing/harness.ts'

/** Something to do as soon as something else has happened. Each moment comes once. */
export interface Moment {
  readonly when: (event: TurnEvent) => boolean
  readonly act: (stage: Harness) => Promise<unknown>
}

/** Says something, and lives through the moments in their order. */
export async function sayThen(stage: Harness, input: string, ...moments: readonly Moment[]): Promise<RecordedTurn> {
  const turn = stage.agent.run({ conversation: stage.conversation, input })
  const events: TurnEvent[] = []
  const left = [...moments]
  for await (const event of turn) {
    events.push(event)
    if (left[0]?.when(event)) await left.shift()?.act(stage)
  }
  return { ...(await turn.result), events }
}

/** The model has written something of its answer that the user can see. */
export const answering = (event: TurnEvent): boolean =>
  event.type === 'lane.delta' && event.delta.marker === 'answer' && event.delta.text !== ''

/** The answer is complete; whether it is the last word is not decided. */
export const answered = (event: TurnEvent): boolean =>
  event.type === 'lane.delta' && event.delta.marker === 'answer' && event.delta.completed

export const toolStarted = (event: TurnEvent): boolean => event.type === 'status' && event.status === 'tool.started'

export const entered =
  (type: string, nth = 1) =>
  (event: TurnEvent): boolean =>
    event.type === 'entry' && event.change.type === type && --nth === 0

export const steers =
  (text: string, options?: Parameters<Harness['agent']['steer']>[2]) =>
  ({ agent, conversation }: Harness): Promise<unknown> =>
    agent.steer(conversation, text, options)

export const followsUp =
  (text: string, options?: Parameters<Harness['agent']['followUp']>[2]) =>
  ({ agent, conversation }: Harness): Promise<unknown> =>
    agent.followUp(conversation, text, options)

export const stops = ({ agent, conversation }: Harness): Promise<unknown> => agent.stop(conversation)
