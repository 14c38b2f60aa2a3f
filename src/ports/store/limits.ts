/**
 * Counts the actions of users on all servers that share the store, so that the limit of a user applies to all servers together. A store
 * that only one machine can use has no shared limits. With such a store, each process counts separately.
 */
export interface SharedLimits {
  /**
   * Takes the used tokens from buckets, and returns how many tokens each bucket has left, in the same order. A bucket begins full, has at
   * most `burst` tokens, and gets `perMinute` tokens in a minute. If several servers use it at the same time, it may become negative, but
   * not below `-burst`. With `used: 0`, nothing is taken. The store forgets a bucket some time after it is full again.
   */
  take(uses: readonly BucketUse[]): Promise<readonly number[]>
  /**
   * For each user of a tenant, the number of conversations with a turn that runs or waits for a process. `conversationId` is any
   * conversation of the tenant. The key of a user is the beginning of the ids of the user's conversations, such as `acme/web/ann/`. Users
   * without such turns are left out.
   */
  countTurns(conversationId: string): Promise<ReadonlyMap<string, number>>
  /** The conversations that `countTurns` counts for the user of a conversation, at most `atMost` of them. */
  turnsOf(conversationId: string, atMost: number): Promise<readonly string[]>
}

/** What a server has used of a bucket since it last told the store. */
export interface BucketUse {
  readonly name: string
  readonly used: number
  readonly burst: number
  readonly perMinute: number
}
