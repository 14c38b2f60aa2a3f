import type { Json } from '../core/json.ts'

/**
 * Runs programs that a model wrote, isolated from the machine. A program sees a read-only system, its own folders, and no network. Every
 * process of a program has ended when `run` resolves.
 */
export interface Sandbox {
  /**
   * The languages that programs can be written in, each with its installed packages. The descriptions of the exec tools list them for the
   * model.
   */
  readonly languages: readonly SandboxLanguage[]
  readonly limits: SandboxLimits
  /**
   * Runs one program. A program may crash, reach a limit, or write nothing. All of this is part of the report, and none of it is an
   * exception. The promise is rejected only if the caller passed an unknown language or a folder that does not exist.
   */
  run(program: SandboxProgram): Promise<SandboxReport>
}

/** A language that programs can be written in. */
export interface SandboxLanguage {
  /** The last part of the id of the tool `exec_tools.execute_code_<id>`. */
  readonly id: 'python' | 'javascript'
  /** The version of the interpreter, such as `3.11.2`. */
  readonly version: string
  /** The packages that programs can import, besides the standard library. */
  readonly packages: readonly { readonly name: string; readonly version: string }[]
  /** The text of the program that loads and starts the programs of the model. A copy of it is kept with each program that ran. */
  readonly loader?: string
}

/** The limits of a program. */
export interface SandboxLimits {
  /** The time limit of a program that does not ask for a time limit. */
  readonly defaultSeconds: number
  /** The greatest time limit that a program can ask for. */
  readonly maxSeconds: number
  readonly memoryBytes: number
  readonly processes: number
  /** The size limit of a single file. */
  readonly fileBytes: number
  /** The number of bytes by which a program may increase the size of its folders. */
  readonly newBytes: number
  /** How many files and folders a program may create. */
  readonly newFiles: number
  /** How many bytes of the output of a program are kept. The rest is read and discarded. */
  readonly logBytes: number
}

/** One program, and what it may use. */
export interface SandboxProgram {
  /** The id of this run. It has only letters, digits, `_` and `-`. */
  readonly execId: string
  readonly language: SandboxLanguage['id']
  /** The program exactly as the model wrote it. Line numbers in error messages refer to this text. */
  readonly code: string
  readonly folders: SandboxFolders
  readonly timeoutSeconds: number
  /**
   * The ids of tools that the program may call. For `web_tools.web_search`, the program has an object `web_tools` with a function
   * `web_search`.
   */
  readonly tools?: readonly string[]
  /** When this signal is aborted, all processes of the program are killed. */
  readonly signal: AbortSignal
  /** Answers a request of the program. If it throws, the program gets an exception with the message of the error. */
  answer(request: SandboxRequest): Promise<Json>
}

/** Folders on this machine, as absolute paths. The program finds them in its variables `OUT_DIR` and `WORKDIR`. */
export interface SandboxFolders {
  /** The folder with the turns. The program can read it, but not write to it. */
  readonly out: string
  /** The name of the folder of the current turn below `out`. The program can write to it, and it is the current folder of the program. */
  readonly turn: string
  /** A folder for temporary files of the conversation. The program can write to it. */
  readonly work: string
  /** Files that the program can read and that are not below `out`, such as `timeline.json`. The key is the name below `CONTEXT_DIR`. */
  readonly context: Readonly<Record<string, string>>
}

/** What a running program asks the runtime for. Only the types of the fields are checked. */
export type SandboxRequest =
  | { readonly kind: 'fetch_ctx'; readonly path: string }
  | { readonly kind: 'tool_call'; readonly toolId: string; readonly params: Readonly<Record<string, Json>>; readonly reason?: string }

/** How a program ended, and what it wrote to its output. */
export interface SandboxReport {
  readonly end: ProgramEnd
  /** The standard output and the standard error in the order in which they arrived, without control characters that move a cursor. */
  readonly log: string
  /** How many bytes of the output were dropped because of `logBytes`. */
  readonly logBytesDropped: number
  /** Messages of the sandbox itself about this run. Empty if there was no problem. */
  readonly sandboxLog: string
  readonly durationMs: number
}

/** How a program ended. */
export type ProgramEnd =
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'killed'; readonly signal: string }
  /** The program reached a limit and was killed. Files that it wrote before stay in its folders. */
  | { readonly kind: 'limit'; readonly limit: ProgramLimit; readonly message: string }
  /** The `signal` of the program was aborted. */
  | { readonly kind: 'cancelled' }
  /** The sandbox could not start the program. The program itself is not the cause. */
  | { readonly kind: 'not_started'; readonly message: string }

/** The limits that end a program. */
export type ProgramLimit =
  | 'timeout'
  | 'cpu_limit'
  | 'memory_limit'
  | 'file_size_limit'
  | 'exec_workspace_delta_limit'
  | 'workspace_size_limit'
