/** A key of the page, as the list of keys shows it. */
export interface KeyHint {
  readonly keys: string
  readonly does: string
}

export const keyHints: readonly KeyHint[] = [
  { keys: 'Enter', does: 'Send. While the agent works: follow up' },
  { keys: 'Shift Enter', does: 'New line' },
  { keys: 'Ctrl Enter', does: 'Steer: interrupt the agent with a message' },
  { keys: 'Esc', does: 'Stop the agent' },
  { keys: '↑', does: 'In an empty message box: bring back the last message' },
  { keys: 'Ctrl K', does: 'Go to a conversation or a command' },
  { keys: 'Ctrl F', does: 'Find in the conversation' },
  { keys: 'Ctrl Shift O', does: 'New conversation' },
  { keys: '?', does: 'This list' },
]

interface KeyPress {
  readonly key: string
  readonly ctrlKey: boolean
  readonly metaKey: boolean
  readonly shiftKey: boolean
  readonly altKey: boolean
}

export type PageCommand = 'palette' | 'find' | 'new' | 'keys'

/** The command that a key starts. `?` starts a command only while the person is not writing a text. */
export function commandOf({ key, ctrlKey, metaKey, shiftKey, altKey }: KeyPress, isWriting: boolean): PageCommand | undefined {
  const control = (ctrlKey || metaKey) && !altKey
  if (control && !shiftKey && key.toLowerCase() === 'k') return 'palette'
  if (control && !shiftKey && key.toLowerCase() === 'f') return 'find'
  if (control && shiftKey && key.toLowerCase() === 'o') return 'new'
  return key === '?' && !control && !isWriting ? 'keys' : undefined
}
