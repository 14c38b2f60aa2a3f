import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Json } from '../core/json.ts'
import type { ProgramEnd, Sandbox, SandboxLanguage, SandboxLimits, SandboxProgram, SandboxReport } from '../ports/sandbox.ts'

/** What a scripted program can do. It runs in the process of the test and is not isolated. */
export interface ScriptedIo {
  /** The program that the model wrote. */
  readonly code: string
  readonly folders: SandboxProgram['folders']
  readonly signal: AbortSignal
  /** Writes a file. The path is relative to the folder of the turn. */
  write(path: string, content: string | Uint8Array): Promise<void>
  /** Reads a file. The path is relative to the folder of the turn. */
  read(path: string): Promise<string>
  /** Writes a line to the output. */
  print(line: string): void
  fetchCtx(path: string): Promise<Json>
  toolCall(toolId: string, params: Readonly<Record<string, Json>>): Promise<Json>
  /** Resolves when the program is cancelled. */
  untilCancelled(): Promise<void>
}

/** A function that replaces a program. If it throws, the exit code is 1, and the message of the exception is written to the output. */
export type ScriptedProgram = (io: ScriptedIo) => Promise<ProgramEnd> | Promise<void>

/** Options of `scriptedSandbox`. */
export interface ScriptedSandboxOptions {
  readonly languages?: readonly SandboxLanguage[]
  readonly limits?: Partial<SandboxLimits>
  /** The text of the sandbox log in every report. */
  readonly sandboxLog?: string
}

/**
 * A sandbox for tests. It runs no code of a model. The program that the model writes must be the name of one of `programs`, which are
 * functions of the test. Every report says that the run took 5 ms, so that the journal is the same in every run of a test.
 */
export function scriptedSandbox(programs: Readonly<Record<string, ScriptedProgram>>, options: ScriptedSandboxOptions = {}): Sandbox {
  return {
    languages: options.languages ?? defaultLanguages,
    limits: { ...defaultLimits, ...options.limits },
    async run(program) {
      const lines: string[] = []
      const end = await runScript(program, programs, lines)
      const report: SandboxReport = {
        end,
        log: lines.map((line) => `${line}\n`).join(''),
        logBytesDropped: 0,
        sandboxLog: options.sandboxLog ?? '',
        durationMs: 5,
      }
      return report
    },
  }
}

async function runScript(
  program: SandboxProgram,
  programs: Readonly<Record<string, ScriptedProgram>>,
  lines: string[],
): Promise<ProgramEnd> {
  const name = program.code.split('\n')[0]?.trim() ?? ''
  const script = Object.hasOwn(programs, name) ? programs[name] : undefined
  if (!script) return { kind: 'not_started', message: `there is no scripted program ${JSON.stringify(name)}` }
  try {
    const end = await script(createIo(program, lines))
    return program.signal.aborted ? { kind: 'cancelled' } : (end ?? { kind: 'exited', exitCode: 0 })
  } catch (error) {
    lines.push(error instanceof Error ? `${error.name}: ${error.message}` : String(error))
    return { kind: 'exited', exitCode: 1 }
  }
}

function createIo({ code, folders, signal, answer }: SandboxProgram, lines: string[]): ScriptedIo {
  const place = (path: string) => join(folders.out, folders.turn, path)
  return {
    code,
    folders,
    signal,
    async write(path, content) {
      await mkdir(dirname(place(path)), { recursive: true })
      await writeFile(place(path), content)
    },
    read: (path) => readFile(place(path), 'utf8'),
    print: (line) => void lines.push(line),
    fetchCtx: (path) => answer({ kind: 'fetch_ctx', path }),
    toolCall: (toolId, params) => answer({ kind: 'tool_call', toolId, params }),
    untilCancelled: () =>
      new Promise((resolve) => {
        if (signal.aborted) resolve()
        else signal.addEventListener('abort', () => resolve(), { once: true })
      }),
  }
}

const defaultLanguages: readonly SandboxLanguage[] = [
  { id: 'python', version: '3.11.2', packages: [{ name: 'numpy', version: '1.24.2' }], loader: '# starts main.py\n' },
  { id: 'javascript', version: '24.0.0', packages: [] },
]

const mebibyte = 1024 * 1024

const defaultLimits: SandboxLimits = {
  defaultSeconds: 600,
  maxSeconds: 600,
  memoryBytes: 2048 * mebibyte,
  processes: 64,
  fileBytes: 100 * mebibyte,
  newBytes: 250 * mebibyte,
  newFiles: 10_000,
  logBytes: mebibyte,
}
