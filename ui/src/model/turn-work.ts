import type { ToolStep } from 'daybook/client'
import { toolTitle } from './tool-titles.ts'
import type { TurnItem } from './turn-items.ts'

type WorkItem = Extract<TurnItem, { kind: 'thinking' | 'notes' | 'tool' | 'program' }>

/** Consecutive steps of the agent, which the page shows as one list. */
export interface Work {
  readonly kind: 'work'
  readonly key: string
  readonly items: readonly WorkItem[]
}

export type TurnPart = Work | Exclude<TurnItem, WorkItem>

/** The items of a turn, with consecutive steps grouped into lists. A list keeps its key while steps are added to it. */
export function groupWork(items: readonly TurnItem[]): readonly TurnPart[] {
  const parts: TurnPart[] = []
  let lists = 0
  for (const item of items) {
    if (item.kind === 'notice') continue // notices are for the model. The page has other texts for what people need to know
    const last = parts.at(-1)
    if (!isWork(item)) parts.push(item)
    else if (last?.kind === 'work') parts[parts.length - 1] = { ...last, items: [...last.items, item] }
    else parts.push({ kind: 'work', key: `work-${lists++}`, items: [item] })
  }
  return parts
}

const isWork = (item: TurnItem): item is WorkItem =>
  item.kind === 'thinking' || item.kind === 'notes' || item.kind === 'tool' || item.kind === 'program'

/**
 * A list with at most this many steps has no line above it. Three steps are a thought, a call, and the thought about its result. Notes are
 * not counted.
 */
const shortList = 3
export const isLongWork = ({ items }: Work): boolean => items.filter(({ kind }) => kind !== 'notes').length > shortList

/** What the line above a list of steps says. */
export interface WorkSummary {
  /** How many calls there are, or how many times the model thought if there is no call. */
  readonly steps: number
  readonly failed: number
  /** What the calls did, in order, such as `Read orders.csv · Wrote report.md`. */
  readonly detail: string
  /** The time from the start of the turn to the end of the last call. Undefined if no call has ended. */
  readonly ms: number | undefined
}

/** Sums up a list of steps. `since` is when the turn began. */
export function workSummary({ items }: Work, since: string): WorkSummary {
  const calls = items.flatMap((item): readonly ToolStep[] => (item.kind === 'tool' ? [item.step] : []))
  const ended = calls.flatMap(({ endedAt }) => (endedAt === undefined ? [] : [Date.parse(endedAt)]))
  const titles = calls.map(({ toolId, params, status }) => {
    const { title, detail } = toolTitle(toolId, params, status === 'running' ? 'running' : 'done')
    return `${title} ${detail}`.trim()
  })
  return {
    steps: calls.length > 0 ? calls.length : items.filter(({ kind }) => kind === 'thinking').length,
    failed: calls.filter(({ status }) => status === 'failed').length,
    detail: titles.filter((title, index) => title !== titles[index - 1]).join(' · '),
    ms: ended.length === 0 ? undefined : Math.max(...ended) - Date.parse(since),
  }
}
