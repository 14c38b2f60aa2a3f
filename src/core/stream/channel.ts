/** The format of a channel's body. Only markdown, text and HTML may have citations. */
export type ChannelFormat = 'markdown' | 'text' | 'html' | 'json' | 'yaml' | 'xml' | 'mermaid'

/** One logical output of a model call, written by the model as `<channel:NAME>…</channel:NAME>`. */
export interface Channel {
  readonly name: string
  /** Other names that the model may use in tags. Events always have `name`. */
  readonly aliases?: readonly string[]
  readonly format: ChannelFormat
  /**
   * True when only two tags end the channel: its own close tag, or an open tag at the start of a line. All other tags inside are text.
   * Default: true for the channel `code`.
   */
  readonly raw?: boolean
}

/** An event of the channel parser. `text` is exactly what the model wrote. `instance` counts the openings of a channel from 0. */
export type ChannelEvent =
  | { readonly type: 'channel.start'; readonly channel: string; readonly instance: number }
  | { readonly type: 'channel.delta'; readonly channel: string; readonly instance: number; readonly text: string }
  | { readonly type: 'channel.end'; readonly channel: string; readonly instance: number; readonly closed: 'tag' | 'implied' | 'cut' }
