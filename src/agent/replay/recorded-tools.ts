import type { FrozenTexts } from '../../core/timeline/change.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { mcpTool } from '../../tools/mcp/tools.ts'
import { readText } from '../frozen/frozen-texts.ts'
import { type FrozenServerTools, frozenServerTools, TOOLS_TEXT } from '../frozen/mcp-tools.ts'
import type { Recording } from './recording.ts'

/**
 * Reads the lists of tools of MCP servers that the turn has frozen, at its start and at compactions. Returns a function that returns the
 * tools of a list. If the blob of a list is lost, the function returns no tools for it.
 */
export async function recordedTools(
  blobs: BlobStore,
  { start, entries }: Recording,
): Promise<(frozen: FrozenTexts | undefined) => FrozenServerTools> {
  const compacted = entries.flatMap(({ change }) => (change.type === 'range.compacted' ? [change.frozen] : []))
  const lists = new Map<string, FrozenServerTools>()
  for (const frozen of [start.frozen, ...compacted]) {
    const ref = frozen?.[TOOLS_TEXT]
    const text = await readText(ref, blobs)
    if (ref && text !== undefined) lists.set(ref.sha256, frozenServerTools(text, noServers))
  }
  return (frozen) => lists.get(frozen?.[TOOLS_TEXT]?.sha256 ?? '') ?? { tools: [], silent: [] }
}

/** A replay calls no server, because the results are taken from the recording. */
const noServers: Parameters<typeof mcpTool>[1] = {
  latest: () => [],
  call: async () => ({ kind: 'unavailable', message: 'a replay calls no server' }),
}
