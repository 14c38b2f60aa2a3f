/** The format of the text in a channel. Only markdown, text and HTML may contain citations. */
export type ChannelFormat = 'markdown' | 'text' | 'html' | 'json' | 'yaml' | 'xml' | 'mermaid'

/** One section of a response. The model writes it as `<channel:NAME>…</channel:NAME>`. */
export interface Channel {
  readonly name: string
  /** Other names that the model may use in tags. Events always contain `name`. */
  readonly aliases?: readonly string[]
  readonly format: ChannelFormat
  /**
   * True when only two tags end the channel: its own close tag, or an open tag at the start of a line. All other tags in the channel are
   * text. By default this is true only for the channel `code`.
   */
  readonly raw?: boolean
}

/**
 * An event of the channel parser. `text` is exactly what the model wrote. A channel can be opened several times; `instance` is 0 for the
 * first time. `closed` tells how a channel ended: by its close tag, by the tag of another channel (`implied`), or because the response
 * ended (`cut`).
 */
export type ChannelEvent =
  | { readonly type: 'channel.start'; readonly channel: string; readonly instance: number }
  | { readonly type: 'channel.delta'; readonly channel: string; readonly instance: number; readonly text: string }
  | { readonly type: 'channel.end'; readonly channel: string; readonly instance: number; readonly closed: 'tag' | 'implied' | 'cut' }
