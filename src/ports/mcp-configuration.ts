import {
  expects,
  filledText,
  flag,
  group,
  listOf,
  numberFrom,
  type OptionRule,
  type OptionRules,
  oneOf,
  optional,
  text,
} from '../core/options.ts'

/** The MCP servers of an agent, by name. The tools of the server `github` get ids such as `mcp.github.create-issue`. */
export type McpConfiguration = Readonly<Record<string, McpServerConfiguration>>

/** A server is a program that Daybook starts, or an address to which it connects. */
export type McpServerConfiguration = McpProgram | McpAddress

/** Options that every server can have. */
export interface McpServerLimits {
  /**
   * Ignored. It is allowed because configurations of other programs contain it. A server with a `command` is a program, and a server with a
   * `url` is an address.
   */
  readonly type?: 'stdio' | 'http' | 'streamable-http'
  /**
   * The tools that the agent may use, by the names that the server gives them. A name such as `issue_*` stands for all tools whose names
   * begin with `issue_`. By default the agent may use all tools.
   */
  readonly tools?: readonly string[]
  /**
   * How many seconds a call may take. Default: 120. This does not include the time that a person takes to answer a question of the server.
   */
  readonly timeoutSeconds?: number
  /** How many seconds the first turn waits for the list of tools. Default: 10. */
  readonly startSeconds?: number
  /** How many bytes one message of the server may have. A server that sends more is stopped. Default: 32 MiB. */
  readonly maxMessageBytes?: number
  /**
   * Whether Daybook trusts the annotations of the server's tools. If true, a call that a crash has interrupted is repeated, provided that
   * the annotations call its tool read-only or idempotent. Default: false.
   */
  readonly trusted?: boolean
}

/** A server that Daybook starts as a child process and talks to over its standard input and output. */
export interface McpProgram extends McpServerLimits {
  readonly command: string
  readonly args?: readonly string[]
  /** The environment of the program. Besides these variables, the program gets only a few others, such as `PATH` and `HOME`. */
  readonly env?: Readonly<Record<string, string>>
  /** The folder in which the program runs. Default: the current folder. */
  readonly cwd?: string
}

/** A server that is reached over HTTP. */
export interface McpAddress extends McpServerLimits {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Set when a person has to sign in with OAuth: `daybook mcp sign-in <server>`. The tokens are in the data folder. */
  readonly oauth?: true | McpOAuth
}

/** Options of the sign-in. By default Daybook registers itself as a client of the authorization server. */
export interface McpOAuth {
  readonly clientId?: string
  readonly clientSecret?: string
  /** The rights that are requested, with blanks between them. */
  readonly scope?: string
  /** The port on this machine to which the browser is redirected after the sign-in. By default it is any free port. */
  readonly redirectPort?: number
}

const texts: OptionRule = (value) => {
  const names = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
  return group('an object with texts', Object.fromEntries(names.map((name) => [name, text])))(value)
}

const limits = {
  type: optional(oneOf('stdio', 'http', 'streamable-http')),
  tools: optional(listOf('names of tools', filledText)),
  timeoutSeconds: optional(numberFrom(1, 86_400)),
  startSeconds: optional(numberFrom(1, 600)),
  maxMessageBytes: optional(numberFrom(1_000, 256 * 1024 * 1024)),
  trusted: optional(flag),
} satisfies OptionRules<McpServerLimits>

const isAddress = (value: unknown) => typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)

const oauthRule = group('true or an object with options of the sign-in', {
  clientId: optional(filledText),
  clientSecret: optional(filledText),
  scope: optional(filledText),
  redirectPort: optional(numberFrom(1, 65_535)),
} satisfies OptionRules<McpOAuth>)

const programRules: OptionRules<McpProgram> = {
  command: filledText,
  args: optional(listOf('texts', text)),
  env: optional(texts),
  cwd: optional(filledText),
  ...limits,
}
const addressRules: OptionRules<McpAddress> = {
  url: expects('an address such as https://mcp.example/mcp', isAddress),
  headers: optional(texts),
  oauth: optional((value) => (value === true ? undefined : oauthRule(value))),
  ...limits,
}

/** The name becomes a part of the ids of tools, so it has no dots. */
const isName = (name: string) => /^[a-z0-9_][a-z0-9_-]{0,39}$/i.test(name)

const misnamed = expects('named with at most 40 letters, digits, _ and -', () => false)

/** The rule for the option `mcp`. */
export const mcpRule: OptionRule = (value) => {
  const servers = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
  const ruleOf = (name: string, server: unknown) => {
    if (!isName(name)) return misnamed
    return group('an object with `command` or `url`', isAddressed(server) ? addressRules : programRules)
  }
  const rules = servers.map(([name, server]) => [name, ruleOf(name, server)] as const)
  return group('an object with MCP servers by name', Object.fromEntries(rules))(value)
}

/** Whether a server is reached over HTTP. */
export const isAddressed = (server: unknown): server is McpAddress => typeof server === 'object' && server !== null && 'url' in server
