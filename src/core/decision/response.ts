export type FinishReason = 'stop' | 'length' | 'content_filter' | 'error' | 'other'

/** One channel as it was left by the parser. */
export interface ReceivedChannel {
  readonly name: string
  /** The raw text of each opening, in order. */
  readonly instances: readonly string[]
  /** How the last of them ended: by its tag, by the tag of another channel, or with the response. */
  readonly closed: 'tag' | 'implied' | 'cut'
}

/** What came back from one call of the model, cut into channels. Plain data: reading it again gives the same decision. */
export interface Response {
  /** In order of first opening; declared channels only. */
  readonly channels: readonly ReceivedChannel[]
  /** What was written before the first tag. */
  readonly preamble: string
  readonly finishReason: FinishReason
  /** The output limit that the model was given. */
  readonly maxTokens: number
  readonly raw: string
  /** What kind of failure ended the stream, when `finishReason` is `error`. */
  readonly errorType?: string
}

export const channelOf = (response: Response, name: string): ReceivedChannel | undefined =>
  response.channels.find((channel) => channel.name === name)

/** Everything written in a channel; empty when it was never opened. */
export const channelText = (response: Response, name: string): string => channelOf(response, name)?.instances.join('') ?? ''

/** The model did not stop by itself: it was cut off, by the output limit or by a filter. */
export const wasCut = ({ finishReason }: Response): boolean => finishReason === 'length' || finishReason === 'content_filter'
