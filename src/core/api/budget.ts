import { z } from 'zod'

/** Limits of a budget. If `tokens` is missing, the tokens are not limited. If `money` is missing, the money is not limited. */
const BudgetLimitsView = z.object({ tokens: z.number().optional(), money: z.number().optional() })
const BudgetAmountView = z.object({ tokens: z.number(), money: z.number() })

/** A budget that conversations share. */
export const BudgetView = z.object({
  name: z.string().describe('The name of the budget, such as `tenant/acme`.'),
  kind: z.enum(['day', 'tenantDay', 'tenant', 'user', 'conversation']).describe('Which model calls the budget counts.'),
  limits: BudgetLimitsView.describe('The limits. If `tokens` or `money` is missing, this amount has no limit.'),
  spent: BudgetAmountView.describe('The amounts that were spent so far.'),
  reserved: BudgetAmountView.describe('The amounts that are reserved for model calls that are running now.'),
  left: BudgetLimitsView.describe('The amounts that new model calls may still use. An amount without a limit is missing.'),
})
export type BudgetView = z.infer<typeof BudgetView>

/** A page of budgets. `next` is the cursor of the following page. */
export const BudgetList = z.object({
  budgets: z.array(BudgetView).describe('The budgets.'),
  next: z.string().optional().describe('The `cursor` of the next page. Missing on the last page.'),
})
export type BudgetList = z.infer<typeof BudgetList>

export const BudgetListQuery = z.strictObject({
  prefix: z.string().max(1_000).optional().describe('Only budgets whose name begins with this text.'),
  limit: z.coerce.number().int().min(1).max(500).default(50).describe('How many items a page has at most.'),
  cursor: z.string().optional().describe('`next` of the previous page.'),
})

/** New limits of a budget. With an empty object, it has no limits. With null, the limits in the settings of the agent apply again. */
export const BudgetChange = z.strictObject({
  name: z.string().min(1).max(2_000).describe('The name of the budget, such as `tenant/acme`.'),
  limits: z
    .strictObject({ tokens: z.number().int().min(0).optional(), money: z.number().min(0).max(1e9).optional() })
    .nullable()
    .describe('The new limits. With an empty object, it has no limits. With null, the limits in the settings of the agent apply again.'),
})
export type BudgetChange = z.infer<typeof BudgetChange>
