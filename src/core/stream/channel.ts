/** How a channel's body is read: by people, by programs, or not at all. */
export type ChannelFormat = 'markdown' | 'text' | 'html' | 'json' | 'yaml' | 'xml' | 'mermaid'

/** One logical output of a model call, written by the model as `<channel:NAME>…</channel:NAME>`. */
export interface Channel {
  readonly name: string
  /** Other names that the model may use for it; folded to `name`. */
  readonly aliases?: readonly string[]
  readonly format: ChannelFormat
  /** Tags inside are text: only its own close tag, or a declared open tag at the start of a line, ends it. */
  readonly raw?: boolean
}

/** What the parser saw. `text` is the model's text, code point for code point; citations are not its business. */
export type ChannelEvent =
  | { readonly type: 'channel.start'; readonly channel: string; readonly instance: number }
  | { readonly type: 'channel.delta'; readonly channel: string; readonly instance: number; readonly text: string }
  | { readonly type: 'channel.end'; readonly channel: string; readonly instance: number; readonly closed: 'tag' | 'implied' | 'cut' }
