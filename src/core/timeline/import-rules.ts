import type { Block } from '../block/block.ts'
import { Failure } from '../failure.ts'
import { titleProblem } from '../title.ts'
import type { Bundle } from './bundle.ts'

/**
 * Checks a bundle of unknown origin, after `parseBundle`. Throws `bundle.invalid` for names that the conversation could not be used with.
 * Bundles that Daybook copies itself, such as forks, are not checked, because an older version may have stored such a name.
 */
export function checkImportedBundle({ timeline, turn_logs, archive }: Bundle): void {
  const problem = timeline.conversation_title === null ? undefined : titleProblem(timeline.conversation_title)
  if (problem !== undefined) throw invalid(`timeline.conversation_title ${problem}`)
  for (const { turn_id } of turn_logs) checkLength('turn_id', turn_id)
  for (const { blocks } of turn_logs) blocks.forEach(checkNames)
  archive.forEach(checkNames)
  timeline.blocks.forEach(checkNames)
}

/**
 * The highest number of characters in a name of a block. Names are in the index of a store and in every prompt, so they must be short. A
 * path may contain a list of sources.
 */
const maximumName = 256
const maximumPath = 16_384

const nameFields = ['type', 'author', 'turn_id', 'mime', 'call_id', 'tool_id'] as const satisfies readonly (keyof Block)[]

function checkNames(block: Block): void {
  for (const field of nameFields) checkLength(field, block[field])
  checkLength('path', block.path, maximumPath)
  checkLength('meta.tool_call_id', block.meta?.tool_call_id)
  checkLength('meta.tool_id', block.meta?.tool_id)
}

function checkLength(field: string, text: string | null | undefined, limit = maximumName): void {
  if (text && text.length > limit) throw invalid(`${field} must have at most ${limit} characters, not ${text.length}`)
}

const invalid = (message: string) => new Failure('bundle.invalid', message)
