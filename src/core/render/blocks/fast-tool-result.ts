import type { Block } from '../../block/block.ts'
import type { RenderContext } from '../types.ts'

/**
 * Fast path of `renderToolResult`: a result for which parsing the payload would not change how it is shown. That holds for most
 * results. For 1,300 characters of JSON it saves about 8 µs. `renderByPayload` is the general version.
 */
export function isPlainResult({ text = '', path, meta }: Block, { caps }: RenderContext): boolean {
  const isShownWhole = text.length <= caps.toolResult
  return isShownWhole && path?.startsWith('tc:') === true && meta?.render_role === undefined && !affectsRendering.test(text)
}

/** The keys that renderers look for in a payload. A backslash may hide such a key in an escape sequence. */
const affectsRendering = /\\|"(?:sid|total_tokens|hosted_uri|rn|local_path|physical_path)"/
