import type { ToolStep } from 'daybook/client'
import { createContext } from 'react'
import type { Decision } from '../primitives/wait-card.tsx'
import type { SendMode } from './composer/use-draft.ts'

/** The actions that elements of the chat can start. */
export interface ChatActions {
  readonly conversationId: string
  send(text: string, mode?: SendMode): Promise<void>
  decide(callId: string, decision: Decision): Promise<void>
  /** The complete parameters of a call that waits. Undefined if the call does not wait any more. */
  readParams(callId: string): Promise<ToolStep['params'] | undefined>
  feedback(turnId: string, reaction: 'ok' | 'not_ok', text: string): Promise<void>
  /** Puts a text into the message box. */
  edit(text: string): void
  /** Opens a file or a document in the panel beside the conversation. */
  openPanel(panel: PanelContent): void
}

/** What the panel beside the conversation shows. */
export type PanelContent =
  | { readonly kind: 'canvas'; readonly turnId: string; readonly key: string }
  | { readonly kind: 'file'; readonly rn: string; readonly filename: string; readonly mime: string | undefined }

const unavailable = () => Promise.reject(new Error('no conversation is open'))

export const ChatActionsContext = createContext<ChatActions>({
  conversationId: '',
  send: unavailable,
  decide: unavailable,
  readParams: unavailable,
  feedback: unavailable,
  edit: () => {},
  openPanel: () => {},
})
