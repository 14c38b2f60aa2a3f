/** A failed attempt of a model call, and the tokens that it cost. */
export interface RetriedAttempt {
  readonly usage: Usage
  readonly model?: string
  /** Set when the provider reported no usage, so `usage` is an estimate. */
  readonly estimated?: true
}

/**
 * The tokens that the provider bills. `uncached`, `cache_read` and `cache_write` are separate parts of the input. `cache_write_long` is a
 * part of `cache_write`, and `reasoning` is a part of `output`.
 */
export interface Usage {
  readonly uncached: number
  readonly cache_read: number
  readonly cache_write: number
  /** The part of `cache_write` that the provider keeps for an hour. */
  readonly cache_write_long?: number
  readonly output: number
  readonly reasoning?: number
}

/**
 * Hashes of a prompt. They are enough to explain a cache miss and to check a replay. The text of the prompt is stored only when the setting
 * `recordPrompts` is set.
 */
export interface PromptRecord {
  readonly model?: string
  /** The indices of the parts that carry a mark. */
  readonly marks?: readonly number[]
  /** For each mark, the position of the last shown block before it. */
  readonly points?: readonly number[]
  /** For each mark, one hash of all parts up to and including the marked part. The system text is not included. */
  readonly segments?: readonly number[]
  readonly system?: SystemFingerprint
  /** The tail of the prompt (sources and announce): its length, and with `recordPrompts` also its text. */
  readonly tail?: { readonly size: number; readonly text?: string }
  readonly shown?: ShownFingerprints
  readonly estimated_tokens?: number
  readonly cache_ttl_seconds?: number | null
}

/** `hash` is the hash of the system text, `tools` the hash of the tool catalogue in it, and `size` the length of the text in characters. */
export interface SystemFingerprint {
  readonly hash: number
  readonly tools: number
  readonly size: number
}

/**
 * A short hash of each shown block from position `from` on. The blocks before `from` are equal to those of the previous prompt, so their
 * hashes are not stored again.
 */
export interface ShownFingerprints {
  readonly from: number
  readonly hashes: readonly number[]
  /** One hash of all shown blocks, including those before `from`. */
  readonly chain: number
  /** The rendered blocks, when `recordPrompts` is set. A replay uses these texts to show the first difference. */
  readonly texts?: readonly string[]
}
