import type { Context } from 'hono'
import type { DownloadableFile } from '../../agent/archive/archive.ts'
import type { TurnResultView } from '../../core/api/turn-result.ts'
import type { Block } from '../../core/block/index.ts'
import type { TurnEvent } from '../../core/event.ts'
import { localScope } from '../../core/scope.ts'
import { blocksForUser } from '../../core/view/user-blocks.ts'
import { createUserFilter } from '../../core/view/user-events.ts'
import type { Env } from '../handler.ts'
import { RequestProblem } from '../problem.ts'
import type { ServerSettings } from '../settings.ts'
import { type Caller, operatorRole } from './authenticate.ts'

// The functions that decide what a caller may see. Every route that sends events or blocks calls one of them.

type ViewSettings = Pick<ServerSettings, 'userThinking'>

export const isOperator = ({ roles }: Caller): boolean => roles.includes(operatorRole)

/**
 * Whether the caller is the only user of a server without tokens. This user may see everything and set all limits. The scope objects are
 * compared and not their names, because a token may also name a tenant `local`.
 */
export const isLocalCaller = ({ scope }: Caller): boolean => scope === localScope

/**
 * The filters for users, shared by all servers of the process. A filter caches its result for each entry, so that an entry with many
 * followers is filtered once.
 */
const userFilters = {
  shown: createUserFilter({ thinking: 'shown' }),
  withheld: createUserFilter({ thinking: 'withheld' }),
}

/** The events that the caller may see. An operator gets all events unchanged. A user gets them without internal content. */
export function eventsFor(caller: Caller, events: AsyncIterable<TurnEvent>, { userThinking }: ViewSettings): AsyncIterable<TurnEvent> {
  return isOperator(caller) ? events : filterEvents(events, userFilters[userThinking])
}

/**
 * Maps each filtered event to the original event. So the original stays in memory as long as a slow client holds the filtered event.
 * Otherwise another client would read the same entry from the store again, and memory would contain two copies of both events.
 */
const origins = new WeakMap<TurnEvent, TurnEvent>()

async function* filterEvents(events: AsyncIterable<TurnEvent>, filter: ReturnType<typeof createUserFilter>): AsyncGenerator<TurnEvent> {
  for await (const event of events) {
    const shown = filter(event)
    if (!shown) continue
    if (shown !== event) origins.set(shown, event)
    yield shown
  }
}

/** The blocks that the caller may see. An operator gets all blocks unchanged. A user gets them without internal content. */
export const blocksFor = (caller: Caller, blocks: readonly Block[], { userThinking }: ViewSettings): readonly Block[] =>
  isOperator(caller) ? blocks : blocksForUser(blocks, { thinking: userThinking })

/** The result of a turn as the caller may see it. Only operators see the cost. */
export const resultFor = (caller: Caller, { cost, ...result }: TurnResultView): TurnResultView =>
  isOperator(caller) && cost ? { ...result, cost } : result

/**
 * Whether the caller may download a file. An operator may download every file. A user may download a file if both conditions hold:
 *
 * - Users see at least one block with the resource name (`meta.rn`) of the file.
 * - The newest block that has `meta.visibility` does not say `internal`. A tool may make a file again under the same name and declare it as
 *   internal. Blocks in which the agent has only read the file have no `meta.visibility`.
 *
 * No block names a file while its tool call is running, or if the tool does not return the file as an artifact. Only operators may download
 * such a file.
 */
export async function mayDownload(caller: Caller, file: Pick<DownloadableFile, 'blocks'>, settings: ViewSettings): Promise<boolean> {
  if (isOperator(caller)) return true
  const blocks = await file.blocks()
  if (blocks.findLast(({ meta }) => meta?.visibility !== undefined)?.meta?.visibility === 'internal') return false
  return blocksFor(caller, blocks, settings).some(({ meta }) => meta?.rn !== undefined)
}

/**
 * Throws a problem if the caller is not an operator. Call it before looking up the conversation, so that a user does not learn whether it
 * exists.
 */
export function requireOperator(c: Context<Env>): void {
  if (isOperator(c.get('caller'))) return
  throw new RequestProblem(403, 'role.refused', `This is for operators: the token needs the role "${operatorRole}".`)
}
