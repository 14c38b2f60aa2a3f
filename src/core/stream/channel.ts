/** The format of a channel's body. Markdown, text and HTML are for people and may have citations; the others are for programs. */
export type ChannelFormat = 'markdown' | 'text' | 'html' | 'json' | 'yaml' | 'xml' | 'mermaid'

/** One logical output of a model call, written by the model as `<channel:NAME>…</channel:NAME>`. */
export interface Channel {
  readonly name: string
  /** Other names that the model may use; events always have `name`. */
  readonly aliases?: readonly string[]
  readonly format: ChannelFormat
  /** Tags inside are text: only its own close tag, or an open tag at the start of a line, ends the channel. Default: true for `code`. */
  readonly raw?: boolean
}

/** An event of the channel parser. `text` is exactly what the model wrote, with its citations; `instance` counts openings from 0. */
export type ChannelEvent =
  | { readonly type: 'channel.start'; readonly channel: string; readonly instance: number }
  | { readonly type: 'channel.delta'; readonly channel: string; readonly instance: number; readonly text: string }
  | { readonly type: 'channel.end'; readonly channel: string; readonly instance: number; readonly closed: 'tag' | 'implied' | 'cut' }
