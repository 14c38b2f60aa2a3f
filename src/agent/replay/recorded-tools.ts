import type { FrozenTexts } from '../../core/timeline/change.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import { parseDefinitions } from '../../tools/mcp/definitions.ts'
import { mcpTool } from '../../tools/mcp/tools.ts'
import type { Tool } from '../../tools/tool.ts'
import { readText } from '../frozen/frozen-texts.ts'
import { TOOLS_TEXT } from '../frozen/mcp-tools.ts'
import type { Recording } from './recording.ts'

/**
 * Reads the lists of tools of MCP servers that the turn has frozen, at its start and at compactions. Returns a function that gives the tools
 * of a list. A list that is lost counts as empty.
 */
export async function recordedTools(
  blobs: BlobStore,
  { start, entries }: Recording,
): Promise<(frozen: FrozenTexts | undefined) => readonly Tool[]> {
  const compacted = entries.flatMap(({ change }) => (change.type === 'range.compacted' ? [change.frozen] : []))
  const lists = new Map<string, readonly Tool[]>()
  for (const frozen of [start.frozen, ...compacted]) {
    const ref = frozen?.[TOOLS_TEXT]
    const text = await readText(ref, blobs)
    if (ref && text !== undefined)
      lists.set(
        ref.sha256,
        (parseDefinitions(text) ?? []).map((each) => mcpTool(each, noServers)),
      )
  }
  return (frozen) => lists.get(frozen?.[TOOLS_TEXT]?.sha256 ?? '') ?? []
}

/** A replay calls no server: the recording has the results. */
const noServers: Parameters<typeof mcpTool>[1] = {
  latest: () => [],
  call: async () => ({ kind: 'unavailable', message: 'a replay calls no server' }),
}
