import { z } from 'zod'

/** The result of a turn. While the turn is open, `exit_reason` is null and `answer` is empty. */
export const TurnResultView = z.object({
  turn_id: z.string(),
  exit_reason: z.string().nullable(),
  ok: z.boolean(),
  answer: z.string(),
  /** The output, if the turn has an output schema and the model gave it. */
  output: z.unknown().optional(),
  /** Why there is no output although the turn has an output schema. */
  refusal: z.object({ code: z.string(), message: z.string() }).optional(),
  followups: z.array(z.string()),
  sources_used: z.array(z.int()),
  /** The sources that the answer cites, without their content. */
  sources: z.array(z.looseObject({ sid: z.int() })),
  /** The files that the agent made for users in this turn. A file with an `rn` can be downloaded. */
  files: z.array(
    z.object({
      path: z.string(),
      filename: z.string(),
      mime: z.string().optional(),
      size_bytes: z.number().optional(),
      rn: z.string().optional(),
      description: z.string().optional(),
    }),
  ),
  truncated: z.boolean(),
  stopped: z.literal(true).optional(),
  /** The tokens of all model calls. `estimated` is the number of calls for which the provider reported no tokens. */
  usage: z.object({
    uncached: z.number(),
    cache_read: z.number(),
    cache_write: z.number(),
    output: z.number(),
    reasoning: z.number(),
    calls: z.int(),
    estimated: z.int(),
  }),
  /**
   * The cost of the turn. If `money` is null, `reason` is `no_prices` or `unknown_price`. With `unknown_price`, `models` made the calls
   * whose price is not known, and `known` is the cost of the other calls. Only operators get the cost.
   */
  cost: z
    .object({
      money: z.number().nullable(),
      reason: z.string().optional(),
      models: z.array(z.string()).optional(),
      known: z.number().optional(),
    })
    .optional(),
  rounds: z.int(),
  timings: z.object({ started_at: z.string(), ended_at: z.string().nullable(), total_ms: z.number() }),
})
export type TurnResultView = z.infer<typeof TurnResultView>
