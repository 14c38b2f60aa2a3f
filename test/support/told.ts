import type { Notice } from '../../src/core/block/index.ts'
import { readNotice } from '../../src/core/block/index.ts'
import type { LaneEvent, TurnEvent } from '../../src/core/event.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import type { Harness } from '../../src/testing/harness.ts'

/** What a person watching was told, and what the model was. */
export const deltasOf = (events: readonly TurnEvent[], marker?: string): readonly LaneEvent[] =>
  events.filter((event) => event.type === 'lane.delta').filter(({ delta }) => marker === undefined || delta.marker === marker)

export const laneText = (events: readonly TurnEvent[], marker: string): string =>
  deltasOf(events, marker)
    .map(({ delta }) => delta.text)
    .join('')

export async function noticesOf(stage: Harness): Promise<readonly Notice[]> {
  return blocksOf(await stage.timeline()).flatMap((block) => readNotice(block) ?? [])
}

export const codesOf = async (stage: Harness): Promise<readonly string[]> => (await noticesOf(stage)).map(({ code }) => code)

export const blockTypes = async (stage: Harness): Promise<readonly string[]> => blocksOf(await stage.timeline()).map(({ type }) => type)

/** How often a model was asked to decide. */
export const decisions = ({ model }: Harness): number => model.requests.filter(({ role }) => role === 'decision').length

/** Numbers of the entries among them. */
export const seqs = (events: readonly TurnEvent[]): readonly number[] =>
  events.flatMap((event) => (event.type === 'entry' ? [event.seq] : []))

export const upTo = (last: number, from = 1): readonly number[] => Array.from({ length: last - from + 1 }, (_, n) => from + n)
