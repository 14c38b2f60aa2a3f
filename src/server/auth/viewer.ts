import type { Context } from 'hono'
import type { Block } from '../../core/block/index.ts'
import type { TurnEvent } from '../../core/event.ts'
import { blocksForUser } from '../../core/view/user-blocks.ts'
import { createUserFilter } from '../../core/view/user-events.ts'
import type { Env } from '../handler.ts'
import { RequestProblem } from '../problem.ts'
import type { ServerSettings } from '../settings.ts'
import { type Caller, operatorRole } from './authenticate.ts'

// What a caller may see. Every route that shows events or blocks takes them from here.

type ViewSettings = Pick<ServerSettings, 'userThinking'>

const isOperator = ({ roles }: Caller): boolean => roles.includes(operatorRole)

/** The filters of all servers of the process. Each filters an event once, however many users follow it. */
const userFilters = {
  shown: createUserFilter({ thinking: 'shown' }),
  withheld: createUserFilter({ thinking: 'withheld' }),
}

/** The events as the caller may see them. For an operator they are the same. */
export function eventsFor(caller: Caller, events: AsyncIterable<TurnEvent>, { userThinking }: ViewSettings): AsyncIterable<TurnEvent> {
  return isOperator(caller) ? events : filterEvents(events, userFilters[userThinking])
}

async function* filterEvents(events: AsyncIterable<TurnEvent>, filter: ReturnType<typeof createUserFilter>): AsyncGenerator<TurnEvent> {
  for await (const event of events) {
    const shown = filter(event)
    if (shown) yield shown
  }
}

/** The blocks as the caller may see them. For an operator they are the same. */
export const blocksFor = (caller: Caller, blocks: readonly Block[], { userThinking }: ViewSettings): readonly Block[] =>
  isOperator(caller) ? blocks : blocksForUser(blocks, { thinking: userThinking })

/** Throws a problem unless the caller is an operator. Call it first, so that a user does not learn whether a conversation exists. */
export function requireOperator(c: Context<Env>): void {
  if (isOperator(c.get('caller'))) return
  throw new RequestProblem(403, 'role.refused', `This is for operators: the token needs the role "${operatorRole}".`)
}
