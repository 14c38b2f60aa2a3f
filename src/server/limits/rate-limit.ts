import type { BucketReports, SharedBuckets } from './shared-buckets.ts'

/** The state of a user's limit per minute, after a request. */
export interface RateState {
  readonly name: string
  readonly perMinute: number
  /** 0 if the request is allowed. Otherwise the number of seconds after which it is allowed. */
  readonly retrySeconds: number
  /** How many further requests may follow immediately. */
  readonly left: number
  /** After how many seconds the user has the whole limit again. */
  readonly fullSeconds: number
}

/** A limit of requests per minute, for each user. */
export interface RateLimit {
  /** Counts a request of a user if it may pass. `user` is the key of the user. */
  take(user: string, nowMs: number): RateState | Promise<RateState>
  /** How many users have a bucket in memory. */
  readonly size: number
}

/**
 * The bucket of a user, as this server sees it. A bucket has at most `perMinute` tokens, and gains `perMinute` tokens in a minute. Each
 * request takes one token.
 */
export interface Bucket {
  tokens: number
  at: number
  /** How many tokens this server took since its last report to the store. */
  unreported: number
}

/** How many requests a server allows before it asks the store what other servers have used: 5 % of the limit, and at least one. */
const shareOf = (perMinute: number) => Math.max(1, Math.ceil(perMinute / 20))

/**
 * Makes a limit. With `shared`, all servers of a store count together. A server usually allows a request immediately, and reports it to the
 * store shortly afterwards. But once the requests since its last report reach its share of the limit, the next request waits until the
 * store has answered. So `n` servers together may exceed the limit by at most `n` shares. After that, requests are refused until the
 * buckets have gained the excess tokens again.
 */
export function createRateLimit({ name, perMinute }: { name: string; perMinute: number }, shared?: SharedBuckets): RateLimit {
  const buckets = new Map<string, Bucket>()
  // with a limit of 0, no request is ever allowed, and clients are told to retry in an hour
  const perMs = Math.max(perMinute, 1 / 60) / 60_000
  const share = shareOf(perMinute)
  const stored = shared?.register({ perMinute, nameOf: (user) => `${name} ${user}` })

  /**
   * A full bucket is removed, because a user without a bucket starts with a full one. If a use could not be reported to the store, the
   * bucket is kept a minute longer, so that the next report includes the use.
   */
  function forgetFull(nowMs: number): void {
    for (const [user, { at, unreported, tokens }] of buckets) {
      const fullFor = nowMs - at - (perMinute - tokens) / perMs
      if (fullFor < 0) return // the map is sorted by last use, so the buckets after this one are probably not full either
      if (unreported === 0 || fullFor > 60_000) buckets.delete(user)
    }
  }

  function refill(user: string, nowMs: number): Bucket {
    const bucket = buckets.get(user) ?? { tokens: perMinute, at: nowMs, unreported: 0 }
    bucket.tokens = Math.min(perMinute, bucket.tokens + Math.max(0, nowMs - bucket.at) * perMs)
    bucket.at = nowMs
    buckets.delete(user)
    buckets.set(user, bucket)
    return bucket
  }

  /** The seconds until a bucket has gained this many tokens. Rounding errors do not add a second. */
  const secondsUntil = (tokens: number) => Math.ceil(tokens / perMs / 1000 - 1e-6)

  const stateOf = ({ tokens }: Bucket, passed: boolean): RateState => ({
    name,
    perMinute,
    retrySeconds: passed ? 0 : Math.max(1, secondsUntil(Math.min(1, perMinute || 1) - tokens)),
    left: Math.max(0, Math.floor(tokens)),
    fullSeconds: secondsUntil(perMinute - tokens),
  })

  /** With a limit below one per minute, a bucket never has a whole token. In this case, a request is allowed when the bucket is full. */
  const mayPass = ({ tokens }: Bucket): boolean => tokens >= 1 || (perMinute > 0 && tokens === perMinute)

  function takeFrom(user: string, bucket: Bucket): RateState {
    if (!mayPass(bucket)) return stateOf(bucket, false)
    bucket.tokens -= 1
    if (stored) {
      bucket.unreported += 1
      stored.reportSoon(user, bucket)
    }
    return stateOf(bucket, true)
  }

  const mustAsk = (bucket: Bucket): boolean => stored?.canAsk() === true && bucket.unreported >= share && mayPass(bucket)

  /** Asks the store, and then takes a token. Asks again if other requests that waited for the same answer have already used the share. */
  async function askAndTake(reports: BucketReports, user: string, bucket: Bucket): Promise<RateState> {
    while (mustAsk(bucket)) await reports.report(user, bucket)
    return takeFrom(user, bucket)
  }

  return {
    take(user, nowMs) {
      forgetFull(nowMs)
      const bucket = refill(user, nowMs)
      return stored && mustAsk(bucket) ? askAndTake(stored, user, bucket) : takeFrom(user, bucket)
    },
    get size() {
      return buckets.size
    },
  }
}

/** The headers `RateLimit` and `RateLimit-Policy` of a limit. */
export const rateHeaders = ({ name, perMinute, left, fullSeconds }: RateState) => ({
  ratelimit: `"${name}";r=${left};t=${fullSeconds}`,
  'ratelimit-policy': `"${name}";q=${Math.floor(perMinute)};w=60`,
})
