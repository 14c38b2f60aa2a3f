import { z } from 'zod'
import type { Sandbox, SandboxLanguage } from '../../ports/sandbox.ts'
import { defineTool } from '../define.ts'
import type { InvokeLimits } from '../invoke.ts'
import type { ReadOptions } from '../react/read.ts'
import type { Tool } from '../tool.ts'
import { languageNames, sandboxConstraints } from './describe.ts'
import { pullRefusal } from './pull-required.ts'

/** The options of exec tools: the sandbox, the tools that programs may call, and limits. */
export interface ExecOptions {
  readonly sandbox: Sandbox
  /** The tools of the agent. Programs may call those with `callableFromCode`, but never exec tools and `react.*` tools. */
  readonly callable: readonly Tool[]
  /** The readers of `ks:` and `sk:` paths for `fetch_ctx`. */
  readonly readers: Pick<ReadOptions, 'knowledge' | 'skills'>
  /** The limits of a tool that a program calls. */
  readonly limits: InvokeLimits
}

/** The tools `exec_tools.execute_code_<language>`, one for each language of the sandbox. They run the program in the `code` channel. */
export function createExecTools(options: ExecOptions): readonly Tool[] {
  const callable = options.callable.filter(
    ({ id, callableFromCode, exec }) => callableFromCode === true && !exec && !id.startsWith('react.'),
  )
  return options.sandbox.languages.map((language) => createExecTool({ ...options, callable }, language))
}

function createExecTool(options: ExecOptions, language: SandboxLanguage): Tool {
  const { limits } = options.sandbox
  return defineTool({
    id: `exec_tools.execute_code_${language.id}`,
    description: `Run a ${languageNames[language.id]} ${language.version} program in a sandbox: to compute, to analyse or convert files, to draw charts.`,
    params: z.object({
      contract: z
        .array(
          z.object({
            filename: z.string(),
            description: z.string(),
            visibility: z.enum(['external', 'internal']).optional(),
          }),
        )
        .describe('every file that the program makes, at least one, in files/ or outputs/; external files are handed over to the user'),
      prog_name: z.string().optional().describe('a short name of the program, for the user'),
      timeout_s: z.number().positive().optional().describe(`seconds, ${limits.defaultSeconds} if not given, at most ${limits.maxSeconds}`),
    }),
    exec: true,
    strategy: 'exploitation',
    returns: 'a report, then each file that was made: texts up to 20 KB, images and PDFs',
    constraints: sandboxConstraints(options.sandbox, language, options.callable),
    async run({ contract, timeout_s = limits.defaultSeconds }, call) {
      const workspace = await call.workspace()
      const refusal = await pullRefusal(call, workspace)
      if (refusal) return refusal
      const { runProgram } = await import('./run-program.ts') // imported on demand, because most turns run no program
      const files = contract.map(({ visibility = 'external', ...file }) => ({ ...file, visibility }))
      const timeoutSeconds = Math.min(timeout_s, limits.maxSeconds)
      return workspace.onDisk(call.origin.turnId, (folders) =>
        runProgram({ contract: files, language, timeoutSeconds, folders, workspace }, call, options),
      )
    },
  })
}
