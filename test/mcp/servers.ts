import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { createMcpServers } from '../../src/adapters/mcp/index.ts'
import type { McpServers } from '../../src/ports/mcp.ts'
import type { McpConfiguration, McpProgram } from '../../src/ports/mcp-configuration.ts'
import { createHarness, type Harness, type HarnessOptions } from '../../src/testing/harness.ts'

const script = fileURLToPath(new URL('servers/scripted-server.mjs', import.meta.url))

/** A server that misbehaves as the mode says. `events` returns what it has noted. */
export function scriptedServer(mode = 'good', more: Partial<McpProgram> & { readonly bytes?: number } = {}) {
  const { bytes, ...options } = more
  const log = join(mkdtempSync(join(tmpdir(), 'daybook-mcp-')), 'log')
  const program: McpProgram = {
    command: process.execPath,
    args: [script, JSON.stringify({ mode, log, ...(bytes !== undefined && { bytes }) })],
    startSeconds: 20,
    ...options,
  }
  const events = (): readonly string[] => {
    try {
      return readFileSync(log, 'utf8').trim().split('\n')
    } catch {
      return []
    }
  }
  const pids = () => events().flatMap((event) => (event.startsWith('start ') ? [Number(event.slice(6))] : []))
  return { program, events, pids }
}

/** The servers of a configuration. They end with the test. */
export function openServers(configuration: McpConfiguration): { readonly servers: McpServers; readonly problems: readonly string[] } {
  const problems: string[] = []
  const servers = createMcpServers(configuration, {
    version: 'test',
    tokens: mkdtempSync(join(tmpdir(), 'daybook-mcp-')),
    onProblem: ({ error }) => problems.push(String(error)),
  })
  onTestFinished(() => servers.close())
  return { servers, problems }
}

/** An agent with a scripted model and MCP servers. */
export function mcpHarness(
  configuration: McpConfiguration,
  options: HarnessOptions,
): Harness & { readonly servers: McpServers; readonly problems: readonly string[] } {
  const { servers, problems } = openServers(configuration)
  return { ...createHarness({ mcp: servers, ...options }), servers, problems }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The text of the last prompt. */
export const promptOf = ({ model }: Pick<Harness, 'model'>, index = -1): string =>
  model.requests
    .at(index)
    ?.parts.map((part) => ('text' in part ? part.text : ''))
    .join('\n') ?? ''
