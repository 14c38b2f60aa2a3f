import type { Context } from 'hono'
import type { DownloadableFile } from '../../agent/archive.ts'
import type { Block } from '../../core/block/index.ts'
import type { TurnEvent } from '../../core/event.ts'
import { blocksForUser } from '../../core/view/user-blocks.ts'
import { createUserFilter } from '../../core/view/user-events.ts'
import type { Env } from '../handler.ts'
import { RequestProblem } from '../problem.ts'
import type { ServerSettings } from '../settings.ts'
import { type Caller, operatorRole } from './authenticate.ts'

// The functions that decide what a caller may see. Every route that sends events or blocks calls one of them.

type ViewSettings = Pick<ServerSettings, 'userThinking'>

const isOperator = ({ roles }: Caller): boolean => roles.includes(operatorRole)

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
 * The event of which each filtered event was made. While a slow client still holds the filtered event, the original stays in memory, too.
 * Otherwise the next client would read the entry again and get objects of its own.
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

/**
 * Whether the caller may download a file. A user may download it if users see a block with its name. A tool may host a file again under the
 * same name and declare it as internal, so the newest visibility counts. It is not in blocks that only repeat what the agent has read. A
 * file without any block is for operators: its tool call has not ended, or a tool has hosted it without declaring it.
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
