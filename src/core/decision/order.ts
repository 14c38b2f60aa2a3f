import type { ToolSignature } from './signature.ts'

const ordinals = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth', 'eleventh', 'twelfth']

export interface OrderProblem {
  readonly binding: boolean
  /** `path_not_first`, `content_not_third`: the first parameter that is not where it belongs, counted in the documented order. */
  readonly code: string
  readonly expected: readonly string[]
  readonly got: readonly string[]
}

/**
 * Were the parameters written in the documented order? Only those that were written count: leaving one out moves nothing.
 *
 *   documented  path channel content kind scratchpad      bound  path channel content kind
 *   written     path kind content                         so     path content kind          content_not_third
 */
export function checkOrder(signature: ToolSignature, written: readonly string[]): OrderProblem | undefined {
  if (isAscending(signature, written)) return undefined
  const names = signature.parameters.map(({ name }) => name)
  const documented = new Set(names)
  const got = [...new Set(written)].filter((name) => documented.has(name))
  const present = new Set(got)
  const expected = names.filter((name) => present.has(name))
  const displaced = expected.findIndex((name, index) => got[index] !== name)
  if (displaced === -1) return undefined
  const name = expected[displaced] as string
  const place = names.indexOf(name)
  const binding = signature.order === 'hard' && place < (signature.orderedCount ?? names.length)
  const ordinal = ordinals[place]
  return { binding, code: ordinal === undefined ? 'param_order' : `${name}_not_${ordinal}`, expected, got }
}

/** The ordinary case, without building anything: each known name stands at or behind the one before it. */
function isAscending({ parameters }: ToolSignature, written: readonly string[]): boolean {
  let last = 0
  for (const key of written) {
    const place = positionOf(key, parameters)
    if (place === -1) continue
    if (place < last) return false
    last = place
  }
  return true
}

function positionOf(key: string, parameters: ToolSignature['parameters']): number {
  for (let place = 0; place < parameters.length; place++) if (parameters[place]?.name === key) return place
  return -1
}
