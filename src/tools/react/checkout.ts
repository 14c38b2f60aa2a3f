import { z } from 'zod'
import { checkoutBlock, type Notice } from '../../core/block/index.ts'
import { cutAt } from '../../core/cut.ts'
import type { JsonObject } from '../../core/json.ts'
import { dropOwnConversation, formatPath, isInOtherConversation, parsePath } from '../../core/path/logical.ts'
import { isId } from '../../core/path/safety.ts'
import type { CheckoutOutcome, CheckoutSource } from '../../ports/workspace.ts'
import { historyOf } from '../artifacts/history.ts'
import { defineTool } from '../define.ts'
import { failed, succeeded } from '../outcome.ts'
import type { Call, Outcome } from '../tool.ts'
import { fileTree } from './pull.ts'

const MAX_PATHS = 50

const params = z.object({
  mode: z.string().optional().describe('"replace" (default): files/ becomes exactly these; "overlay": these are laid over what is there'),
  paths: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe('fi:<turn>.files/<scope> of earlier turns, in order: later ones win'),
  force: z.boolean().optional().describe('replace also undoes what you made in this turn'),
  version: z.string().optional().describe('older form: a turn id, the same as replace with fi:<turn>.files'),
})

type Mode = 'replace' | 'overlay'
type Params = z.infer<typeof params>

/** The tool `react.checkout`: copies files of earlier turns into `files/` of the current turn. */
export const createCheckoutTool = () =>
  defineTool({
    id: 'react.checkout',
    description:
      'Define the editable workspace of this turn, files/, from files of earlier turns. Do this before you go on with a project: a turn begins without its files.',
    params,
    strategy: 'exploitation',
    repeatable: true,
    returns: 'what files/ now holds',
    constraints: [
      'a scope that you check out whole, fi:<turn>.files/<scope>, is saved as you leave it; in other scopes only what you checked out or wrote can be deleted',
      'outputs and attachments are not touched; to look at older files without changing anything use react.pull',
    ],
    async run(params, call) {
      const { turnId } = call.origin
      const request = parseRequest(params, call)
      if (!request.ok) return refusalOutcome(request.violation)
      const workspace = await call.workspace()
      const { mode, sources } = request
      const outcome = await workspace.checkout(turnId, { mode, sources, ...(params.force && { force: true }) }, historyOf(call))
      if (!outcome.ok) return refusalOutcome(problemNotice(outcome, mode))
      const checkedOutFrom = outcome.checkedOutFrom.map(logicalOf)
      return succeeded({
        output: checkoutResult(turnId, mode, outcome, checkedOutFrom),
        after: [checkoutBlock(call.origin, { mode, checkedOut: sources.map(logicalOf), checkedOutFrom })],
      })
    },
  })

type CheckoutRequest =
  | { readonly ok: true; readonly mode: Mode; readonly sources: readonly CheckoutSource[] }
  | { readonly ok: false; readonly violation: Notice }

function parseRequest({ mode = 'replace', paths, version }: Params, call: Call): CheckoutRequest {
  const refuse = (code: string, message: string, more: JsonObject = {}): CheckoutRequest => ({
    ok: false,
    violation: { code, message, ...more },
  })
  if (version !== undefined && paths !== undefined) {
    return refuse(
      'checkout_conflicting_params',
      `Both paths and version were given, and version is only the older form of paths. ${retryHint('paths alone')}`,
    )
  }
  if (mode !== 'replace' && mode !== 'overlay') {
    return refuse(
      'protocol_violation.checkout_invalid_mode',
      `"${cutAt(mode, 100)}" is no mode. ${retryHint('mode "replace" or "overlay"')}`,
    )
  }
  const requested = version === undefined ? (typeof paths === 'string' ? [paths] : (paths ?? [])) : [versionPath(version)]
  if (requested.length === 0) {
    return refuse('protocol_violation.checkout_missing_paths', `react.checkout needs paths. ${retryHint(`paths: ${pathsHint}`)}`)
  }
  // If a path occurs twice, its last occurrence is kept: files are copied in the order of the paths, and later files overwrite earlier
  // ones.
  const distinct = [...new Set(requested.toReversed())].toReversed()
  if (distinct.length > MAX_PATHS) {
    const message = `At most ${MAX_PATHS} paths can be checked out at once, not ${distinct.length}. ${retryHint('their folders')}`
    return refuse('protocol_violation.checkout_invalid_paths', message)
  }
  const parsed = distinct.map((path) => parseSource(path, call))
  const invalid = parsed.filter((each) => 'reason' in each)
  const sources = parsed.filter((each) => 'turnId' in each)
  if (invalid.length === 0) return { ok: true, mode: version === undefined ? mode : 'replace', sources }
  const message = `These can not be checked out: ${invalid.map(({ path, reason }) => `${path} (${reason})`).join(', ')}. ${retryHint(pathsHint)}`
  return refuse('protocol_violation.checkout_invalid_paths', message, { paths: invalid.map(({ path, reason }) => ({ path, reason })) })
}

const pathsHint = 'fi:<turn>.files/<scope> of earlier turns'
const retryHint = (what: string) => `Nothing changed. Call react.checkout again with ${what}.`

const versionPath = (version: string) => (isId(version) ? `fi:${version}.files` : version)

function parseSource(text: string, { conversationId, origin }: Call): CheckoutSource | { readonly path: string; readonly reason: string } {
  const path = parsePath(dropOwnConversation(text, conversationId))
  const shown = cutAt(text, 200)
  if (isInOtherConversation(path)) return { path: shown, reason: 'in_another_conversation' }
  if (path?.space !== 'fi' || path.kind === 'code') return { path: shown, reason: 'not_a_files_ref' }
  if (path.area !== 'files') return { path: shown, reason: 'only_files_can_be_checked_out' }
  if (path.turn === origin.turnId) return { path: shown, reason: 'already_the_current_turn' }
  return { turnId: path.turn, rel: path.rel }
}

const logicalOf = ({ turnId, rel }: CheckoutSource) =>
  rel === '' ? `fi:${turnId}.files` : formatPath({ space: 'fi', kind: 'file', turn: turnId, area: 'files', rel })

function checkoutResult(
  turnId: string,
  mode: Mode,
  outcome: CheckoutOutcome & { ok: true },
  checkedOutFrom: readonly string[],
): JsonObject {
  return {
    mode,
    checked_out_from: [...checkedOutFrom],
    checked_out: outcome.checkedOut.map(({ source, files }) => ({ source: logicalOf(source), files })),
    materialized: {
      file_count: outcome.files.length,
      ...fileTree(outcome.files),
      target_root: `${turnId}/files/`,
      target_logical_root: `fi:${turnId}.files/`,
      path_rule: { logical: `fi:${turnId}.files/<path>`, physical: `${turnId}/files/<path>` },
    },
    missing: [],
    errors: [],
  }
}

function problemNotice({ code, problems }: CheckoutOutcome & { ok: false }, mode: Mode): Notice {
  if (code === 'nonempty') {
    const changes = problems.map(({ message }) => message).join('; ')
    const next = mode === 'replace' ? 'Use mode "overlay", or force:true to throw it away.' : 'Use force:true to throw it away.'
    const message = `files/ holds work of this turn that ${mode === 'replace' ? 'a replace' : 'the checkout'} would undo: ${changes}. Nothing changed. ${next}`
    return { code: 'react.checkout.nonempty', message, mode }
  }
  const details = problems.map(({ source, message }) => ({ ...(source && { path: logicalOf(source) }), message }))
  const text = details.map(({ path, message }) => (path === undefined ? message : `${path}: ${message}`)).join('; ')
  const kind = code === 'missing' ? { missing: details } : { errors: details }
  if (code === 'unavailable') {
    return {
      code: 'workspace_version_unavailable',
      message: `Nothing was checked out and nothing changed: ${text}. Try again later.`,
      ...kind,
    }
  }
  return { code: 'react.checkout.failed', message: `Nothing was checked out and nothing changed. ${text}.`, ...kind }
}

function refusalOutcome(notice: Notice): Outcome {
  const { code, message, ...details } = notice
  return failed(code, message, { notices: [notice], ...(Object.keys(details).length > 0 && { details: details as JsonObject }) })
}
