import { z } from 'zod'

/** The result of a turn. While the turn is open, `exit_reason` is null and `answer` is empty. */
export const TurnResultView = z.object({
  turn_id: z.string().describe('The id of the turn.'),
  exit_reason: z.string().nullable().describe('How the turn ended. Null while it is open.'),
  ok: z.boolean().describe('False if the turn failed.'),
  answer: z.string().describe('The answer as Markdown.'),
  output: z.unknown().optional().describe('The structured output, if the turn has an output schema and the model returned a valid output.'),
  refusal: z
    .object({ code: z.string(), message: z.string() })
    .optional()
    .describe('Why there is no output although the turn has an output schema.'),
  followups: z.array(z.string()).describe('Questions that the user might ask next.'),
  sources_used: z.array(z.int()).describe('The numbers of the sources that the answer cites.'),
  sources: z.array(z.looseObject({ sid: z.int() })).describe('The sources that the answer cites, without their content.'),
  files: z
    .array(
      z.object({
        path: z.string().describe('The path of the file in the conversation.'),
        filename: z.string().describe('The name of the file.'),
        mime: z.string().optional().describe('The media type.'),
        size_bytes: z.number().optional().describe('The size in bytes.'),
        rn: z.string().optional().describe('The handle of the file: `GET /v1/resources/:rn` returns its bytes.'),
        description: z.string().optional().describe('What the file is.'),
      }),
    )
    .describe('The files that the agent made for users in this turn. A file with an `rn` can be downloaded.'),
  truncated: z.boolean().describe('Whether the answer was cut off.'),
  stopped: z.literal(true).optional().describe('True if a user stopped the turn while the model was writing.'),
  usage: z
    .object({
      uncached: z.number().describe('Input tokens that were not cached.'),
      cache_read: z.number().describe('Input tokens that the provider read from its cache.'),
      cache_write: z.number().describe('Input tokens that the provider wrote to its cache.'),
      output: z.number().describe('The output tokens.'),
      reasoning: z.number().describe('How many of the output tokens are reasoning.'),
      calls: z.int().describe('The number of model calls.'),
      estimated: z.int().describe('The number of calls for which the provider reported no tokens.'),
    })
    .describe('The tokens of all model calls. `estimated` is the number of calls for which the provider reported no tokens.'),
  cost: z
    .object({
      money: z.number().nullable().describe('The cost, in US dollars by default. Null when it is not known.'),
      reason: z.string().optional().describe('Why the cost is not known.'),
      models: z.array(z.string()).optional().describe('The models without a price.'),
      known: z.number().optional().describe('The cost of the calls whose price is known, if the price of other calls is not known.'),
    })
    .optional()
    .describe(
      'The cost of the turn. If `money` is null, `reason` is `no_prices` or `unknown_price`. If `reason` is `unknown_price`, `models` lists the models whose price is not known, and `known` is the cost of the calls of all other models. Only operators get the cost.',
    ),
  rounds: z.int().describe('How many decisions the model was asked to make.'),
  timings: z
    .object({ started_at: z.string(), ended_at: z.string().nullable(), total_ms: z.number() })
    .describe('When the turn began and ended, and how many milliseconds it took.'),
})
export type TurnResultView = z.infer<typeof TurnResultView>
