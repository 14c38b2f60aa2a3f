import { z } from 'zod'
import {
  attemptsRule,
  backlogRule,
  connectionsRule,
  countRule,
  folders,
  limits,
  megabytes,
  moneyRule,
  number,
  oneOf,
  originRule,
  originsRule,
  perMinuteRule,
  portRule,
  roundsRule,
  runningRule,
  secondsRule,
  text,
  textOrObject,
  tokensRule,
} from './rules.ts'

/** All settings of the command and the server, in the form that `daybook.config.ts` exports. */
export const Settings = z.strictObject({
  /**
   * `provider/model` or `offline`. A configuration file may also set a model object. The key of the provider is not a setting. It is read
   * from the provider's own environment variable, such as `OPENAI_API_KEY`.
   */
  model: textOrObject('must be a name or a model'),
  /**
   * The model that is used while the provider of `model` can not answer. Without this setting, the turn waits for the provider, or ends
   * with a fixed text as its answer.
   */
  fallbackModel: textOrObject('must be a name or a model').optional(),
  /**
   * How the model writes its decisions. `channels`: it writes tool calls as text with tags. `native`: it calls tools in the provider's own
   * form. `auto`: Daybook chooses the dialect from its table of providers and models.
   */
  dialect: oneOf('auto', 'channels', 'native'),
  /**
   * The path of a module that exports an agent, relative to the current folder. A configuration file may also set an object that
   * `defineAgent` returned.
   */
  agent: textOrObject('must be the path of a module or an agent').optional(),
  /** The folder in which conversations and files are stored. */
  data: text,
  /**
   * Where conversations and files are stored. `sqlite`: in the folder `data`. `memory`: in memory only, so they are lost when the process
   * ends.
   */
  store: oneOf('sqlite', 'memory'),
  /**
   * The address of a PostgreSQL database. If it is set, conversations and files that users can download are stored there, and any number of
   * servers can share them. In this case the folder `data` has only files of this machine, such as the working files of turns.
   */
  databaseUrl: z.url({ protocol: /^postgres(?:ql)?$/, error: 'must be an address such as postgres://user@host:5432/name' }).optional(),
  /** How many connections to the database this process opens at most. By default 10. */
  databaseConnections: number(z.int(connectionsRule).min(1, connectionsRule).max(1_000, connectionsRule)).optional(),
  /** Whether Daybook uses prepared statements. The default is `on`, but `off` if the address is the address of a connection pooler. */
  databasePrepare: oneOf('on', 'off').optional(),
  /**
   * Used if `databaseUrl` is the address of a connection pooler: the address of the same database without the pooler. Servers use this
   * address to receive notifications of the database. Without it, servers behind a pooler check every second whether other servers have
   * changed something.
   */
  databaseListenUrl: z
    .url({ protocol: /^postgres(?:ql)?$/, error: 'must be an address such as postgres://user@host:5432/name' })
    .optional(),
  /**
   * The address of a Redis server, which passes live text between servers that share a database. Without Redis, the database passes this
   * text. Daybook stores nothing in Redis.
   */
  redisUrl: z.url({ protocol: /^rediss?$/, error: 'must be an address such as redis://user:password@host:6379' }).optional(),
  /**
   * A bucket of S3, or of a server that is compatible with it. If `bucket` is set, blobs and the files that users can download are stored
   * there. The other settings of `s3` are used only then.
   */
  s3: z.strictObject({
    bucket: text.optional(),
    /** The address of the server. By default it is the address of Amazon S3 in the region. */
    endpoint: z.url({ protocol: /^https?$/, error: 'must be an address such as https://s3.eu-west-1.amazonaws.com' }).optional(),
    region: text,
    /**
     * Where the name of the bucket is in the address of a request. `path`: it is the first part of the path, as most servers allow. `host`:
     * it is put before the host name of `endpoint`, as some services require.
     */
    addressing: oneOf('path', 'host'),
    /** A text such as `team/daybook` that is put before every key. */
    prefix: text.optional(),
    accessKeyId: text.optional(),
    secretAccessKey: text.optional(),
    sessionToken: text.optional(),
  }),
  /**
   * What `daybook serve` does. `web`: it accepts messages and serves the web page, but runs no turns. `worker`: it runs turns, and serves
   * only health and metrics. `both`: it accepts messages, serves the web page and runs turns. Servers with the roles `web` and `worker`
   * share a PostgreSQL database.
   */
  role: oneOf('web', 'worker', 'both'),
  /** Limits for the conversations that a server runs and for the messages that wait. */
  work: z.strictObject({
    /** How many conversations a server runs at the same time. Further conversations wait in the store. */
    conversations: number(z.int(countRule).min(1, countRule).max(100_000, countRule)),
    /** How many conversations of one tenant run at the same time, on all servers. By default there is no limit. */
    perTenant: number(z.int(countRule).min(1, countRule).max(100_000, countRule)).optional(),
    /**
     * After how many failed attempts a conversation is parked. A parked conversation is not tried again until a message arrives or `daybook
     * retry` is called.
     */
    attempts: number(z.int(attemptsRule).min(1, attemptsRule).max(100, attemptsRule)),
    /** How many messages and turns of one tenant may wait. Further messages are refused with the status 503. */
    backlog: number(z.int(backlogRule).min(1, backlogRule).max(10_000_000, backlogRule)),
  }),
  host: text,
  /** The port on which the server listens. With 0, the system chooses a free port. */
  port: number(z.int(portRule).min(0, portRule).max(65_535, portRule)),
  /**
   * How versions of the files of a conversation are stored. `custom`: in the journal and its blobs. `git`: as commits of a git repository.
   */
  workspace: oneOf('custom', 'git'),
  /** Only for `workspace: git`. The path or address of a bare repository that all machines share. */
  workspaceRemote: text.optional(),
  /**
   * How a server checks the tokens of its clients. To listen on an address that other machines can reach, the server needs `secret`,
   * `publicKey` or `jwksUrl`.
   */
  auth: z.strictObject({
    secret: text.optional(),
    publicKey: text.optional(),
    jwksUrl: z.url('must be an address such as https://login.example/keys').optional(),
    issuer: text.optional(),
    audience: text.optional(),
  }),
  /** The origins whose pages may use a server from a browser. In the environment they are separated by commas. */
  origins: z.preprocess(
    (value) => (typeof value === 'string' ? value.split(',').map((origin) => origin.trim()) : value),
    z.array(
      z.string(originRule).refine((value) => URL.canParse(value) && new URL(value).origin === value && !value.includes('*'), originRule),
      originsRule,
    ),
  ),
  /** Whether a server shows users what the model thinks. Operators always see it. */
  userThinking: oneOf('shown', 'withheld'),
  /** Limits of one turn. */
  budget: z.strictObject({
    rounds: number(z.int(roundsRule).min(1, roundsRule).max(1_000, roundsRule)),
    /** The highest cost of one turn, in US dollars. */
    money: number(z.number(moneyRule).positive(moneyRule)).optional(),
    /** The highest number of tokens that all model calls of one turn together may use. */
    tokens: number(z.int(tokensRule).min(1, tokensRule)).optional(),
  }),
  /**
   * The default limits of budgets, which all servers with the same store share. Each limit is `{ tokens, money }`, or
   * `tokens=2000000,money=5` in the environment. Money is in US dollars.
   */
  budgets: z.strictObject({
    /** The limit of each conversation, including its sub-agents. */
    conversation: limits,
    /** The limit of each user, for all conversations together. */
    user: limits,
    /** The limit of each tenant, for all conversations together. */
    tenant: limits,
    /** The limit of each tenant per day (UTC), for all conversations together. */
    tenantDay: limits,
    /** The limit of all tenants together, per day (UTC). */
    day: limits,
    /**
     * What a turn does when its next model call would exceed a budget. `wrap-up`: it answers with the results that it has. `ask`: it waits
     * until an operator decides. `cheaper-model`: it continues with the model `cheaperModel`.
     */
    whenReached: oneOf('wrap-up', 'ask', 'cheaper-model'),
    /** For `cheaper-model`: the name of one of the `models` of the agent. */
    cheaperModel: text.optional(),
  }),
  /** Limits for one user. Servers with the same PostgreSQL database share the counts. */
  limits: z.strictObject({
    /** How many requests of a user are answered in a minute. Further requests are refused with the status 429. */
    requestsPerMinute: number(z.int(perMinuteRule).min(1, perMinuteRule).max(1_000_000_000, perMinuteRule)),
    /** How many messages of a user are accepted in a minute. Further messages are refused with the status 429. */
    turnsPerMinute: number(z.int(perMinuteRule).min(1, perMinuteRule).max(1_000_000_000, perMinuteRule)),
    /** How many turns of a user may run at the same time. Further messages are refused with the status 429. */
    runningTurns: number(z.int(runningRule).min(1, runningRule).max(1_000_000, runningRule)),
  }),
  /**
   * Whether the agent may run programs that the model writes. `auto`: yes, if this machine can isolate them. `off`: no. Programs never run
   * without isolation.
   */
  sandbox: oneOf('auto', 'off'),
  /** Limits of one program: its longest duration in seconds, its memory, and how much it may write. */
  programs: z.strictObject({
    seconds: number(z.int(secondsRule).min(1, secondsRule).max(86_400, secondsRule)).optional(),
    memoryMb: megabytes,
    diskMb: megabytes,
  }),
  /**
   * How tokens are counted. `rough` is an estimate: four characters of Latin text are one token, and one character of another script is one
   * token. `o200k` uses the encoding of this name, which takes 20 MB of memory.
   */
  tokenCounter: oneOf('rough', 'o200k'),
  /** The tools that use the web. */
  web: z.strictObject({
    /** Whether the agent can read web pages. The pages that a search finds are read only if this setting is `on`. */
    fetch: oneOf('on', 'off'),
    /**
     * The search service. `auto`: the services whose keys are in the environment are asked one after the other, until one answers. With the
     * name of a service, this service is asked first. The keys are not settings. They are read from the services' own variables, such as
     * `BRAVE_API_KEY`.
     */
    search: oneOf('auto', 'off', 'brave', 'tavily', 'exa', 'serper', 'searxng'),
    /** Whether the file `robots.txt` of a site is obeyed. */
    robots: oneOf('respect', 'ignore'),
    /** Hosts of a private network that the agent may read: names, IP addresses and ranges, with commas between them. */
    allow: text.optional(),
    /**
     * Whether pages that can not be read are requested from web.archive.org. With `on`, the archive learns the addresses of these pages.
     */
    archive: oneOf('on', 'off'),
    /** Whether a model chooses the passages of pages that matter. The calls of this model are not part of the costs of the conversation. */
    refinement: oneOf('on', 'off'),
  }),
  /**
   * MCP servers whose tools the agent can call: an object with servers by name, or the path of a JSON file with `mcpServers`. They are
   * added to the MCP servers that the agent itself defines.
   */
  mcp: z
    .union([text, z.custom<object>((value) => typeof value === 'object' && value !== null, 'must be the path of a file or MCP servers')])
    .optional(),
  /**
   * Whether spans are made for OpenTelemetry. The program, or a module that the configuration file imports, must register an SDK that
   * exports them.
   */
  telemetry: oneOf('off', 'opentelemetry'),
  /** Whether the agent can search earlier messages and answers. */
  memorySearch: oneOf('on', 'off'),
  /**
   * The embedding model of the memory search: `provider/model`. A configuration file may also set a model of the AI SDK. With an embedding
   * model, the search also compares the meaning of texts. Without it, the search compares only words.
   */
  embedding: z
    .union([text, z.custom<object>((value) => typeof value === 'object' && value !== null, 'must be a name or an embedding model')])
    .optional(),
  /**
   * Folders with skills: guidance for kinds of work. `built-in` stands for the skills that are part of Daybook. If two folders have a skill
   * with the same name, the skill of the later folder is used. In the environment, the folders are separated by commas, and `none` means no
   * skills. A configuration file may also set an object that reads skills.
   */
  skills: folders,
  /**
   * Folders with documents that the agent can search and read. With `name=path`, the logical paths of the documents begin with `ks:name/`.
   * In the environment, folders are separated by commas. A configuration file may also set an object that reads and searches.
   */
  knowledge: folders,
  /**
   * The browser that makes PDF and PNG files: a path, the name of a program, or `none`. By default it is Chromium or Chrome, if one of them
   * is installed.
   */
  browser: text.optional(),
  logLevel: oneOf('silent', 'error', 'warn', 'info'),
  /** The address of a Daybook server. If it is set, commands use this server instead of an agent in their own process. */
  server: z.url({ protocol: /^https?$/, error: 'must be an address such as http://127.0.0.1:4127' }).optional(),
  token: text.optional(),
})

export type Settings = z.infer<typeof Settings>
