import { z } from 'zod'
import { planBlock } from '../../core/block/index.ts'
import type { JsonObject } from '../../core/json.ts'
import { latestPlanPath } from '../../core/path/build.ts'
import { changePlan, makePlanId } from '../../core/plan/plan-change.ts'
import { defineTool } from '../define.ts'
import { failed, succeeded } from '../outcome.ts'

const params = z.object({
  mode: z
    .string()
    .default('new')
    .describe('"new" makes a plan, "activate" takes up an open one, "replace" supersedes one, "close" ends one'),
  plan_id: z.string().optional().describe('which plan: for activate, replace and close'),
  steps: z.array(z.string()).optional().describe('what will be done, one line each: for new and replace'),
})

/** The tool `react.plan`: makes, activates, replaces or closes a plan. */
export const createPlanTool = () =>
  defineTool({
    id: 'react.plan',
    description: 'Make or change a plan of several steps. Progress is marked in notes, not here.',
    params,
    strategy: 'neutral',
    repeatable: true,
    returns: 'the plan that now stands and where its newest snapshot is',
    run(params, call) {
      const { turnId, ts, callId, iteration } = call.origin
      const change = changePlan(call.timeline, params as JsonObject, { turnId, ts, newId: makePlanId(turnId, callId.slice(-8)) })
      if (!change.ok) return failed(change.violation.code, change.violation.message, { notices: [change.violation] })
      const { mode, planId, targetPlanId, snapshots } = change
      return succeeded({
        ...(mode === 'close' && { notices: [{ code: 'plan_closed', message: `The plan ${planId} is closed.`, plan_id: planId }] }),
        drafts: snapshots.map((plan) => planBlock(turnId, ts, plan, iteration)),
        output: [
          `mode: ${mode}`,
          ...(targetPlanId === undefined
            ? []
            : [`target_plan_id: ${targetPlanId}`, `target_snapshot_ref: ${latestPlanPath(targetPlanId)}`]),
          `plan_id: ${planId}`,
          `latest_snapshot_ref: ${latestPlanPath(planId)}`,
        ].join('\n'),
      })
    },
  })
