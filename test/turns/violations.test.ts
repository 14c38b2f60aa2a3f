import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { callViolations, planViolations, responseViolations } from '../../src/core/decision/violations.ts'

/** Codes of notices that do not come from checks of a decision. A running tool causes them, or the model is not the cause. */
const others = [
  'protocol_violation.output_invalid',
  ...['protocol_violation.path_rewritten', 'protocol_violation.write_extension_mismatch', 'protocol_violation.param_ref_not_visible'],
  ...['checkout_invalid_mode', 'checkout_missing_paths', 'checkout_invalid_paths'].map((code) => `protocol_violation.${code}`),
  ...['exec_missing_code', 'exec_code_contaminated', 'exec_contract_invalid'].map((code) => `protocol_violation.${code}`),
  ...['exec_contract_rewritten', 'exec_path_rewritten', 'exec_code_rewritten'].map((code) => `protocol_violation.${code}`),
  ...['read_paths_missing', 'tool_call_warning.missing_sources', 'tool_call_error.missing_assets'],
  ...['tool_signature_validation', 'tool_call_error', 'tool_result_error', 'service_interrupted', 'service_error'],
  ...[
    'action_json_repaired',
    'answer_without_action',
    'answer_without_channels',
    'duplicate_keys',
    'final_answer_twice',
    'final_answer_with_notes',
  ].map(warned),
  ...[
    'followups_unreadable',
    'usage_unreadable',
    'param_order',
    'tool_alias',
    'answer_truncated',
    'unknown_sources',
    'ref_path_normalized',
  ].map(warned),
]
function warned(code: string): string {
  return `protocol_warning.${code}`
}

const folder = join(import.meta.dirname, '../scenarios')
const timelines = readdirSync(folder)
  .map((name) => readFileSync(join(folder, name, 'timeline.txt'), 'utf8'))
  .join('\n')

/** Scenarios speak in channels. `test/turns/broken-native-replies.test.ts` shows what only happens with tool calls of the provider. */
const ofChannels = [...responseViolations, ...callViolations, ...planViolations].filter((code) => code !== 'call_in_text')
const codes = [...ofChannels.map((code) => `protocol_violation.${code}`), ...others]

it.each(codes)('a scenario shows the notice %s', (code) => {
  expect(timelines).toMatch(new RegExp(`react\\.notice +${code.replaceAll('.', '\\.')}[: ]`))
})
