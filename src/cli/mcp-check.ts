import type { Settings } from '../config/settings.ts'
import type { MachineCheck } from '../core/api/info.ts'
import { errorMessage } from '../core/failure.ts'
import { describeMcp } from '../wiring/mcp.ts'

/** Starts the MCP servers of the setting `mcp` and says what they offer. The servers in the module of an agent are not checked. */
export async function checkMcp(settings: Pick<Settings, 'mcp' | 'data'>): Promise<MachineCheck> {
  try {
    return { name: 'MCP servers', required: false, advice: 'see docs/mcp.md', ...(await describeMcp(settings)) }
  } catch (error) {
    return { name: 'MCP servers', required: true, ok: false, found: errorMessage(error) } // for example, a file does not exist
  }
}
