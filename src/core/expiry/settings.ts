/** What idleness costs. Turns are counted by recency; sizes of base64 are in its characters, four for three bytes. */
export interface ExpirySettings {
  /** Null or not positive: nothing ever expires. */
  readonly ttlSeconds: number | null
  /** Expire this much before the provider does: a prompt must not arrive a second too late. */
  readonly bufferSeconds: number
  readonly keepRecentTurns: number
  /** Counts the current turn. */
  readonly keepIntactTurns: number
  readonly maxTextChars: number
  readonly maxFieldChars: number
  readonly maxToolTextChars: number
  readonly maxListItems: number
  readonly maxKeys: number
  readonly maxBase64Chars: number
  readonly keepPictures: number
  readonly maxPicturesBase64Chars: number
  readonly replacementMaxTokens: number
}

export const defaultExpirySettings: ExpirySettings = {
  ttlSeconds: 300,
  bufferSeconds: 10,
  keepRecentTurns: 6,
  keepIntactTurns: 1,
  maxTextChars: 4000,
  maxFieldChars: 1000,
  maxToolTextChars: 400,
  maxListItems: 50,
  maxKeys: 80,
  maxBase64Chars: 4000,
  keepPictures: 2,
  maxPicturesBase64Chars: 1_000_000,
  replacementMaxTokens: 240,
}
