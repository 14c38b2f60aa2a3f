import { z } from 'zod'

/** Limits of a budget. If `tokens` or `money` is missing, this amount is not limited. */
const BudgetLimitsView = z.object({ tokens: z.number().optional(), money: z.number().optional() })
const BudgetAmountView = z.object({ tokens: z.number(), money: z.number() })

/** A budget that conversations share. */
export const BudgetView = z.object({
  /** Such as `tenant/acme`. */
  name: z.string(),
  kind: z.enum(['day', 'tenantDay', 'tenant', 'user', 'conversation']),
  limits: BudgetLimitsView,
  spent: BudgetAmountView,
  /** The amounts that are reserved for model calls that run now. */
  reserved: BudgetAmountView,
  /** The amounts that are left for new model calls. */
  left: BudgetLimitsView,
})
export type BudgetView = z.infer<typeof BudgetView>

/** A page of budgets. `next` is the cursor of the following page. */
export const BudgetList = z.object({ budgets: z.array(BudgetView), next: z.string().optional() })
export type BudgetList = z.infer<typeof BudgetList>

export const BudgetListQuery = z.strictObject({
  /** Only budgets whose name begins with this text. */
  prefix: z.string().max(1_000).optional(),
  limit: z.coerce.number().int().min(1).max(500).default(50),
  cursor: z.string().optional(),
})

/** New limits of a budget. An empty object removes all limits, and null lets the limits of the settings apply. */
export const BudgetChange = z.strictObject({
  name: z.string().min(1).max(2_000),
  limits: z.strictObject({ tokens: z.number().int().min(0).optional(), money: z.number().min(0).max(1e9).optional() }).nullable(),
})
export type BudgetChange = z.infer<typeof BudgetChange>
