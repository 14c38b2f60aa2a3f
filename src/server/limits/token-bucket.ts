/** Lets through a few at once and then so many a minute, for each name on its own. Names that have been quiet are forgotten. */
export interface TokenBucket {
  /** 0 when it may pass; else in how many seconds it may. */
  take(name: string, nowMs: number, cost?: number): number
  readonly size: number
}

export function createTokenBucket({ atOnce, perMinute }: { readonly atOnce: number; readonly perMinute: number }): TokenBucket {
  const buckets = new Map<string, { left: number; at: number }>()
  const refill = perMinute / 60_000
  const fullAfterMs = atOnce / refill

  function forgetQuiet(nowMs: number): void {
    for (const [name, { at }] of buckets) {
      if (nowMs - at < fullAfterMs) return // in order of their last use
      buckets.delete(name)
    }
  }

  return {
    take(name, nowMs, cost = 1) {
      forgetQuiet(nowMs)
      const known = buckets.get(name) ?? { left: atOnce, at: nowMs }
      const left = Math.min(atOnce, known.left + Math.max(0, nowMs - known.at) * refill)
      const passes = left >= cost || left === atOnce // what is larger than the bucket passes when it is full
      buckets.delete(name)
      buckets.set(name, { left: passes ? left - cost : left, at: nowMs })
      return passes ? 0 : Math.ceil((cost - left) / refill / 1000)
    },
    get size() {
      return buckets.size
    },
  }
}
