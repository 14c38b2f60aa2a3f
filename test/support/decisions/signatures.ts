import type { ParameterType, ToolSignature, ToolSignatures } from '../../../src/core/decision/signature.ts'

/** A signature from a text such as `path! size:number`: the parameters in order, with `!` after a required parameter. */
export function signature(id: string, parameters: string, rest: Partial<ToolSignature> = {}): ToolSignature {
  const read = parameters.split(' ').filter((text) => text !== '')
  return {
    id,
    parameters: read.map((text) => {
      const [name = '', type = 'string'] = text.replace('!', '').split(':')
      return { name, type: type as ParameterType, required: text.endsWith('!') }
    }),
    order: 'soft',
    strategy: 'neutral',
    ...rest,
  }
}

export const toolsOf = (...signatures: readonly ToolSignature[]): ToolSignatures => ({
  find: (id) => signatures.find((known) => known.id === id),
  ids: signatures.map(({ id }) => id),
})

/** Signatures of tools that have special rules, such as a fixed order of parameters. */
export const someTools = toolsOf(
  signature('react.read', 'paths:array! stats_only:boolean'),
  signature('react.write', 'path! channel content! kind scratchpad:boolean', { order: 'hard', orderedCount: 4 }),
  signature('react.patch', 'path! channel patch! kind', { order: 'hard' }),
  signature('rendering_tools.write_pdf', 'path! content! format title landscape:boolean', { order: 'hard', orderedCount: 1 }),
  signature('web_tools.web_search', 'queries:any! objective n:integer'),
  signature('exec_tools.execute_code_python', 'contract:array! prog_name timeout_s:number', { exec: true }),
  signature('ctx_tools.fetch_ctx', 'path!', { onlyInCode: true }),
)
