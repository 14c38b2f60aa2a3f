import { type Command, InvalidArgumentError } from 'commander'
import { Settings } from '../config/settings.ts'
import { ConversationId } from '../core/api/conversation.ts'
import { parseConversationKey } from '../core/scope.ts'

// Parsers of option values. They throw `InvalidArgumentError`, which commander prints with the name of the option.

export function positiveInteger(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('must be a whole number above 0')
  return number
}

export function wholeNumber(text: string): number {
  const number = Number(text)
  if (text.trim() === '' || !Number.isSafeInteger(number) || number < 0) throw new InvalidArgumentError('must be a whole number')
  return number
}

export function portNumber(text: string): number {
  const parsed = Settings.shape.port.safeParse(text.trim() === '' ? Number.NaN : text)
  if (!parsed.success) throw new InvalidArgumentError('must be a whole number from 0 to 65535; 0 chooses a free port')
  return parsed.data
}

export function folderName(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('must be a folder')
  return text
}

/**
 * Parses the name of a conversation, by the same rule as the server. Names that could refer to conversations of other users are invalid.
 */
export function conversationName(text: string): string {
  const parsed = ConversationId.safeParse(text)
  if (!parsed.success) throw new InvalidArgumentError('must be letters, digits, "_" and "-", at most 128 characters')
  return text
}

/** Parses the name of a conversation, or the name with tenant, project and user that `daybook admin work` shows. */
export function conversationNameOrKey(text: string): string {
  return parseConversationKey(text).name === text ? conversationName(text) : text
}

/** Parses an option that may be given several times, and collects its values. */
export const collect = (text: string, before: readonly string[] = []): readonly string[] => [...before, text]

export function withExamples(command: Command, examples: readonly (readonly [line: string, meaning: string])[]): Command {
  const lines = examples.map(([line, meaning]) => (meaning === '' ? `  ${line}` : `  ${line}\n      ${meaning}`))
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}
