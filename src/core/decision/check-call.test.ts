import { describe, expect, it } from 'vitest'
import { decided } from '../../../test/support/decisions/responses.ts'
import { signature, someTools, toolsOf } from '../../../test/support/decisions/signatures.ts'
import { checkCall } from './check-call.ts'
import { readDecision } from './read.ts'

/** Checks a call as a model writes it. `params` is JSON text, because an object would lose the order of keys and repeated keys. */
function check(toolId: string, params: string, code = '', tools = someTools) {
  const reading = readDecision(decided(`{"action":"call_tool","tool_call":{"tool_id":"${toolId}","params":${params}}}`, ['code', code]))
  if (!reading.ok || reading.decision.action !== 'call_tool') throw new Error('not a call')
  const checked = checkCall(reading.decision, tools)
  return checked.ok ? { params: checked.params, warnings: checked.warnings } : checked.violation
}

const contract = '[{"filename":"files/a.csv","description":"rows"}]'

describe('parameters', () => {
  it('loop 17.67: that are unknown are dropped with a warning, and the call runs', () => {
    expect(check('web_tools.web_search', '{"queries":["x"],"depth":3}')).toEqual({
      params: { queries: ['x'] },
      warnings: [
        {
          code: 'tool_signature_validation',
          message:
            'Some parameters of "web_tools.web_search" were dropped: "depth" (unknown). The call went ahead without them. Use only documented parameters.',
          status: 'yellow',
          tool_id: 'web_tools.web_search',
          issues: [{ code: 'unknown_param', param: 'depth' }],
        },
      ],
    })
  })

  it('loop 17.67: that are required must be present', () => {
    expect(check('web_tools.web_search', '{"n":3}')).toEqual({
      code: 'protocol_violation.tool_signature_red',
      message:
        'The call of "web_tools.web_search" can not be carried out: the required parameter "queries" is missing. Nothing ran. Send the call again with params in this order: queries (any, required), objective (string), n (integer).',
      tool_id: 'web_tools.web_search',
      violations: [{ code: 'missing_param', param: 'queries', expected: 'any' }],
    })
    expect(check('web_tools.web_search', '{"queries":null}')).toMatchObject({ code: 'protocol_violation.tool_signature_red' })
  })

  it('of the wrong type reject the call if they are required, and are dropped if they are optional', () => {
    expect(check('react.read', '{"paths":"fi:t1.files/a.md"}')).toMatchObject({
      code: 'protocol_violation.tool_signature_red',
      violations: [{ code: 'wrong_type', param: 'paths', expected: 'array', got: 'a string' }],
    })
    expect(check('web_tools.web_search', '{"queries":"x","objective":null,"n":1.5}')).toMatchObject({
      params: { queries: 'x' },
      warnings: [{ status: 'yellow', issues: [{ code: 'wrong_type', param: 'n', expected: 'integer', got: 'a number' }] }],
    })
  })

  it('may be references, whatever their type', () => {
    const bound = { paths: 'ref:tc:t1.c1.result', stats_only: 'ref:tc:t1.c2.result' }
    expect(check('react.read', JSON.stringify(bound))).toEqual({ params: bound, warnings: [] })
  })

  it('may be a bare list or string if the tool requires only one list', () => {
    expect(check('react.read', '["a","b"]')).toEqual({ params: { paths: ['a', 'b'] }, warnings: [] })
    expect(check('react.read', '"a"')).toEqual({ params: { paths: ['a'] }, warnings: [] })
    expect(check('react.write', '["a"]')).toMatchObject({
      code: 'protocol_violation.tool_call_invalid',
      violations: [{ code: 'bad_params', got: 'a list' }],
    })
  })

  it('are own properties: inherited names such as constructor do not count', () => {
    const tools = toolsOf(signature('a.b', 'constructor! __proto__:object'))
    expect(check('a.b', '{}', '', tools)).toMatchObject({ violations: [{ code: 'missing_param', param: 'constructor' }] })
    expect(check('a.b', '{"constructor":"x","__proto__":{"y":1}}', '', tools)).toEqual({
      params: JSON.parse('{"constructor":"x","__proto__":{"y":1}}'),
      warnings: [],
    })
  })
})

describe('order', () => {
  it('tools 18.26: is binding for tools whose content streams', () => {
    expect(check('react.write', '{"content":"x","path":"files/a.md"}')).toMatchObject({
      code: 'protocol_violation.path_not_first',
      keys: ['content', 'path'],
      expected: ['path', 'content'],
      tool_id: 'react.write',
    })
  })

  it.each([
    ['react.write', '{"path":"a","content":"x","channel":"canvas"}', 'channel_not_second'],
    ['react.write', '{"path":"a","channel":"canvas","kind":"file","content":"x"}', 'content_not_third'],
    ['react.write', '{"path":"a","scratchpad":true,"content":"x","kind":"file"}', 'content_not_third'],
    ['react.patch', '{"path":"a","patch":"x","channel":"canvas"}', 'channel_not_second'],
    ['react.patch', '{"path":"a","kind":"file","patch":"x"}', 'patch_not_third'],
    ['rendering_tools.write_pdf', '{"content":"x","path":"a.pdf"}', 'path_not_first'],
  ])('%s(%s): %s', (toolId, params, code) => {
    expect(check(toolId, params)).toMatchObject({ code: `protocol_violation.${code}` })
  })

  it.each([
    ['react.write', '{"path":"a","content":"x"}'],
    ['react.write', '{"path":"a","odd":1,"channel":"canvas","content":"x","kind":"file","scratchpad":true}'],
    ['rendering_tools.write_pdf', '{"path":"a.pdf","content":"x","title":"T"}'],
  ])('%s(%s) is in order: omitted and unknown parameters do not matter', (toolId, params) => {
    expect(check(toolId, params)).toMatchObject({ params: { path: expect.anything() } })
    expect(JSON.stringify(check(toolId, params))).not.toContain('order')
  })

  it('is only a warning for other tools, and for parameters beyond the bound ones', () => {
    expect(check('web_tools.web_search', '{"n":2,"queries":"x"}')).toMatchObject({
      params: { n: 2, queries: 'x' },
      warnings: [{ code: 'protocol_warning.param_order', expected: ['queries', 'n'], got: ['n', 'queries'] }],
    })
    expect(check('rendering_tools.write_pdf', '{"path":"a.pdf","title":"T","content":"x"}')).toMatchObject({
      warnings: [{ code: 'protocol_warning.param_order' }],
    })
  })

  it('is reported together with all other problems', () => {
    const tools = toolsOf(signature('react.write', 'path! channel content! kind!', { order: 'hard' }))
    expect(check('react.write', '{"content":"x","path":"a"}', '', tools)).toMatchObject({
      code: 'protocol_violation.tool_call_invalid',
      violations: [{ code: 'path_not_first' }, { code: 'missing_param', param: 'kind' }],
    })
  })
})

describe('tools', () => {
  it('that do not exist are rejected, with suggestions', () => {
    expect(check('websearch', '{}')).toMatchObject({ violations: [{ code: 'unknown_tool_id', suggestions: [] }] })
    expect(check('tools.web_search', '{}')).toMatchObject({
      code: 'protocol_violation.tool_call_invalid',
      message: expect.stringContaining('There is no tool "tools.web_search". Did you mean web_tools.web_search?'),
    })
    expect(check('react.reads', '{}')).toMatchObject({ violations: [{ suggestions: ['react.read'] }] })
    expect(check('x'.repeat(100_000), '{}')).toMatchObject({ tool_id: expect.stringMatching(/^x{79}…$/) })
  })

  it('loop 17.68: that exist only inside programs can not be called', () => {
    expect(check('ctx_tools.fetch_ctx', '{"path":"x"}')).toMatchObject({ code: 'protocol_violation.tool_not_allowed_in_react' })
  })

  it('that run no code reject calls with code', () => {
    expect(check('react.read', '{"paths":[]}', 'print(1)')).toMatchObject({
      code: 'protocol_violation.code_channel_without_single_exec',
      action: 'call_tool',
      tool_id: 'react.read',
    })
  })

  it.each([
    ['{}', 'missing_contract'],
    ['{"contract":null}', 'missing_contract'],
    ['{"contract":[]}', 'missing_contract'],
    ['{"contract":"[]"}', 'missing_contract'],
    ['{"contract":{}}', 'invalid_contract'],
    ['{"contract":"nope"}', 'invalid_contract'],
    ['{"contract":["a.csv"]}', 'invalid_contract'],
    ['{"contract":[{"filename":"a.csv"}]}', 'invalid_contract'],
    ['{"contract":[{"filename":"a.csv","description":"x","visibility":"secret"}]}', 'invalid_contract'],
  ])('that run code need a contract: %s is %s', (params, code) => {
    expect(check('exec_tools.execute_code_python', params, 'print(1)')).toMatchObject({
      code: 'protocol_violation.tool_call_invalid',
      violations: [{ code }],
    })
  })

  it('that run code accept a reference as contract, because its content is not known yet', () => {
    expect(check('exec_tools.execute_code_python', '{"contract":"ref:fi:t1.files/contract.json"}', 'print(1)')).toMatchObject({
      warnings: [],
    })
  })

  it('that run code accept a contract as a list or as JSON text', () => {
    expect(check('exec_tools.execute_code_python', `{"contract":${contract}}`, 'print(1)')).toMatchObject({ warnings: [] })
    const text = JSON.stringify(contract.replace('filename', 'filepath'))
    expect(check('exec_tools.execute_code_python', `{"contract":${text}}`, 'print(1)')).toMatchObject({ warnings: [] })
  })
})
