import type { Block } from '../block/block.ts'
import { Failure } from '../failure.ts'
import { isTurnId } from '../path/safety.ts'
import { titleProblem } from '../title.ts'
import type { Bundle } from './bundle.ts'

/**
 * The name under which a bundle is imported if the caller chooses none. Throws `bundle.invalid` for a name that commands and the HTTP API
 * do not accept. A name with a slash could even be the key of a conversation of another user.
 */
export function nameInBundle({ conversation_id: name }: Bundle): string {
  if (/^[A-Za-z0-9_-]{1,128}$/.test(name)) return name
  throw invalid(
    'the name of the conversation in the bundle must be letters, digits, "_" and "-", at most 128 characters: choose another name',
  )
}

/**
 * Checks a bundle of unknown origin, after `parseBundle`. Throws `bundle.invalid` when the title, a turn id, another name in a block or the
 * number of events is not allowed. Bundles that Daybook copies itself, such as forks, are not checked, because an older version of Daybook
 * may have stored a name that is no longer allowed.
 */
export function checkImportedBundle({ timeline, turn_logs, archive }: Bundle): void {
  const problem = timeline.conversation_title === null ? undefined : titleProblem(timeline.conversation_title)
  if (problem !== undefined) throw invalid(`timeline.conversation_title ${problem}`)
  const { last_external_event_seq: events } = timeline
  if (events !== null && !(Number.isSafeInteger(events) && events >= 0 && events <= maximumCount)) {
    throw invalid(`timeline.last_external_event_seq must be a whole number from 0 to ${maximumCount}`)
  }
  for (const { turn_id } of turn_logs) checkTurnId(turn_id)
  for (const { blocks } of turn_logs) blocks.forEach(checkNames)
  archive.forEach(checkNames)
  timeline.blocks.forEach(checkNames)
}

/**
 * The highest number of characters in a name, such as the type or the tool id of a block. Names are in the index of a store and in every
 * prompt, so they must be short. A path may be longer, because it may contain a list of sources.
 */
const maximumName = 256
const maximumPath = 16_384

/**
 * The highest number of events that an imported conversation may have had. New events get higher numbers, and JavaScript must be able to
 * represent these numbers exactly.
 */
const maximumCount = 1e12

const nameFields = ['type', 'author', 'mime', 'call_id', 'tool_id'] as const satisfies readonly (keyof Block)[]

function checkNames(block: Block): void {
  checkTurnId(block.turn_id)
  for (const field of nameFields) checkLength(field, block[field])
  checkLength('path', block.path, maximumPath)
  checkLength('meta.tool_call_id', block.meta?.tool_call_id)
  checkLength('meta.tool_id', block.meta?.tool_id)
}

/** Checks the form of a turn id. With an id of another form, the paths of the blocks and files of the turn could not be parsed. */
function checkTurnId(turnId: string): void {
  checkLength('turn_id', turnId)
  if (!isTurnId(turnId)) throw invalid('turn_id must be letters, digits, "_" and "-", and must not begin with "conv_"')
}

function checkLength(field: string, text: string | null | undefined, limit = maximumName): void {
  if (text && text.length > limit) throw invalid(`${field} must have at most ${limit} characters, not ${text.length}`)
}

const invalid = (message: string) => new Failure('bundle.invalid', message)
