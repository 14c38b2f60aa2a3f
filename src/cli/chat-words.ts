/** What a line typed in a chat means. */
export type ChatCommand =
  | { readonly kind: 'say' | 'steer' | 'attach'; readonly text: string }
  | { readonly kind: 'stop' | 'files' | 'new' | 'help' | 'quit' | 'nothing' }
  | { readonly kind: 'unknown'; readonly word: string }

const commandsWithText = new Set(['steer', 'attach'])
const commandsWithoutText = new Set(['stop', 'files', 'new', 'help', 'quit'])

/** `/word text` is for the program, `//…` says what begins with a slash, everything else is said. */
export function parseChatLine(line: string): ChatCommand {
  const text = line.trim()
  if (text === '') return { kind: 'nothing' }
  if (text.startsWith('//')) return { kind: 'say', text: text.slice(1) }
  if (!text.startsWith('/')) return { kind: 'say', text }
  const [, word = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? []
  if (commandsWithText.has(word) && rest !== '') return { kind: word as 'steer' | 'attach', text: rest }
  if (commandsWithoutText.has(word)) return { kind: word as 'stop' }
  return { kind: 'unknown', word }
}

export const chatHelp = `anything        is said; while a turn runs it is added to it
/steer <text>   interrupts the turn and says where to go instead
/stop           ends the turn (or Ctrl-C)
/attach <file>  goes along with what you say next
/files          what was attached or handed over
/new            begins another conversation
/quit           leaves (or Ctrl-D, or Ctrl-C twice); a turn that runs is taken up when you come back
//…             says something that begins with a slash`
