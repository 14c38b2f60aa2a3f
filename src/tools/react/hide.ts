import { z } from 'zod'
import { type HidePlan, planHide } from '../../core/hide/hide.ts'
import type { Json } from '../../core/json.ts'
import { dropOwnConversation, isInOtherConversation, parsePath } from '../../core/path/logical.ts'
import { defineTool } from '../define.ts'
import { failed, succeeded } from '../outcome.ts'

const params = z.object({
  path: z.string().describe('logical path to fold away: ar: fi: tc: so: ks:'),
  replacement_text: z.string().optional().describe('what it was and why it may be forgotten, at most 400 characters'),
  replacement: z.string().optional().describe('the same under its older name'),
})

/** The tool `react.hide`: replaces the visible blocks at a path by one line. */
export const createHideTool = () =>
  defineTool({
    id: 'react.hide',
    description: 'Fold a large block into one line. The content stays; react.read(path) brings it back.',
    params,
    strategy: 'neutral',
    repeatable: true,
    returns: 'how many blocks and tokens are out of sight',
    constraints: ['only the newest content can be hidden: what lies before the cache point stays as it is'],
    run({ path: given, replacement_text, replacement }, { visiblePrompt, conversationId }) {
      const path = dropOwnConversation(given.trim(), conversationId)
      if (path === '') return failed('missing_path', 'Say which path to fold away.')
      const request = { path, replacement_text: replacement_text ?? replacement ?? '' }
      const plan = planHide(visiblePrompt.slice(), visiblePrompt.points(), request, {
        tokens: visiblePrompt.tokens,
        tailTokens: visiblePrompt.editableTailTokens,
      })
      if (plan.ok) return succeeded({ changes: [plan.change], output: plan.report as unknown as Json })
      const message = refusalMessage(path, plan)
      const code = plan.notice ?? 'hide_not_found'
      return failed(code, message, { notices: [{ code, message, path }], output: plan.report as unknown as Json })
    },
  })

/** Tells the model why the blocks can not be hidden. */
function refusalMessage(path: string, { reason, report }: HidePlan & { ok: false }): string {
  switch (reason) {
    case undefined:
      return isInOtherConversation(parsePath(path))
        ? `${path} belongs to another conversation. Only what this conversation shows can be hidden.`
        : `Nothing visible has the path ${path}.`
    case 'previous_turns':
      return `${path} can not be hidden: it belongs to an earlier turn, and the provider has cached it.`
    case 'earlier_rounds':
      return `${path} can not be hidden: it belongs to an earlier round, and the provider has cached it. Only the last few rounds can be changed.`
    case 'tail_tokens':
      return `${path} can not be hidden: ${report.tail_tokens} tokens come after it, and at most ${report.tail_limit} may.`
    default:
      return reason satisfies never
  }
}
