import { artifactIds, hasPublicContract, readContract } from '../contract/contract.ts'
import type { ChannelFormat } from './channel.ts'
import type { JsonValue } from './json/event.ts'
import {
  type CreateReplacer,
  createHeldLane,
  createLane,
  createLazyLane,
  type EmitDelta,
  type LaneDelta,
  type LaneEnd,
  withoutRewriting,
} from './lane.ts'

/** Settings of the lanes that show a program. */
export interface ExecSettings {
  readonly executionId: string
  readonly replacer: CreateReplacer
  readonly mimeOf: (filename: string) => string
}

/**
 * Shows a program while the model writes it. There are lanes for its status, name, objective, code and contract. If the program has no
 * code, the status becomes `error` and no contract is shown.
 */
export interface ExecLanes {
  /** True when it is known that the action calls an exec tool. */
  readonly started: boolean
  /** Call this when it is known that the action calls an exec tool. Shows the status `gen`. */
  start(language: string): void
  /** Call this when the action is complete. Shows the code, the name and the objective of the program. */
  describe(params: JsonValue | undefined, notes: string): void
  /** Call this when the action calls no exec tool. The code is then not shown. */
  discard(): void
  /** Call this when the action is rejected. Later code is not shown. If the program was already shown, it gets the status `error`. */
  refuse(): void
  write(code: string): void
  endCode(ending: LaneEnd): void
  end(): void
}

export function createExecLanes({ executionId, replacer, mimeOf }: ExecSettings, emit: EmitDelta): ExecLanes {
  const code = createHeldLane()
  let hasCode = false
  let refused = false
  let internal = true // treated as internal until the contract is known
  let language: string | undefined
  let params: { readonly [key: string]: JsonValue } = {}

  function showWhole(subType: string, format: ChannelFormat, text: string, more: { readonly internal?: true } = {}) {
    if (text.trim() === '') return
    const createRewriter = format === 'markdown' ? () => replacer('markdown') : withoutRewriting
    const lane = createLane({ ...execStyle(executionId, subType, format), ...more }, createRewriter, emit)
    lane.write(text)
    lane.end('whole')
  }

  const mark = () => (internal ? { internal } : {})

  /**
   * Shows the code. It is called when the contract is known. If the contract has an internal file, the lane is marked as internal, because
   * the program may hold the content of that file.
   */
  function releaseCode() {
    const style = { ...execStyle(executionId, 'code_exec.code', 'text', language), ...mark() }
    code.release(createLazyLane(style, withoutRewriting, emit))
  }

  const self = {
    started: false,
    start(named: string) {
      if (self.started || refused || code.state === 'dropped') return
      self.started = true
      language = named
      emit(execStatusDelta(executionId, 'gen'))
    },
    describe(given: JsonValue | undefined, notes: string) {
      if (!self.started || refused) return
      if (typeof given === 'object' && given !== null && !Array.isArray(given)) params = given as typeof params
      internal = !hasPublicContract(params.contract, true)
      releaseCode()
      if (typeof params.prog_name === 'string') showWhole('code_exec.program.name', 'text', params.prog_name, mark())
      showWhole('code_exec.objective', 'markdown', notes)
    },
    discard() {
      if (!self.started) code.drop()
    },
    refuse() {
      if (!refused && code.state === 'open') code.end('aborted')
      else code.drop()
      refused = true
    },
    write(text: string) {
      if (refused) return
      hasCode ||= text.trim() !== ''
      code.write(text)
    },
    endCode(ending: LaneEnd) {
      if (!refused) code.end(ending)
    },
    end() {
      if (!self.started) return
      if (refused) return emit(execStatusDelta(executionId, 'error', { error: 'refused' }))
      releaseCode() // needed if the response ended before the action was complete
      if (!hasCode) return emit(execStatusDelta(executionId, 'error', { error: 'missing_code' }))
      const contract = listedFiles(params.contract, mimeOf)
      showWhole('code_exec.contract', 'json', JSON.stringify({ execution_id: executionId, contract }))
    },
  }
  return self
}

const toolPrefix = 'exec_tools.execute_code_'

/** The language that an exec tool runs. Undefined for any other tool. */
export function execLanguage(toolId: string): string | undefined {
  return toolId.startsWith(toolPrefix) && toolId.length > toolPrefix.length ? toolId.slice(toolPrefix.length) : undefined
}

/**
 * The progress of a program: the model is writing it (`gen`), it is running (`exec`), it ended without an error (`done`), or it ended with
 * an error (`error`).
 */
export type ExecStatus = 'gen' | 'exec' | 'done' | 'error'

/**
 * A delta with a status. Each status replaces the previous one, so the index is always 0. `timings` has the milliseconds that the model
 * took to write the program and the milliseconds that the program ran.
 */
export function execStatusDelta(
  executionId: string,
  status: ExecStatus,
  {
    timings = {},
    error,
  }: { readonly timings?: { readonly codegen?: number; readonly exec?: number }; readonly error?: string | undefined } = {},
): LaneDelta {
  const text = JSON.stringify({ status, timings, error })
  return { ...execStyle(executionId, 'code_exec.status', 'json'), index: 0, text, completed: status === 'done' || status === 'error' }
}

function execStyle(executionId: string, subType: string, format: ChannelFormat, language?: string) {
  return {
    marker: 'subsystem',
    artifact_name: `react.exec.${executionId}.${subType.replaceAll('.', '_')}`,
    format,
    extra: { execution_id: executionId, sub_type: subType, ...(language !== undefined && { language }) },
  } as const
}

/**
 * The files of a contract that the user will see. Internal files are not listed, but the artifact ids are made from the names of all files.
 * Empty for an invalid contract.
 */
function listedFiles(given: JsonValue | undefined, mimeOf: (filename: string) => string) {
  const contract = readContract(given)
  if (!contract.ok) return []
  const ids = artifactIds(contract.files.map(({ filename }) => filename))
  return contract.files.flatMap(({ filename, description, visibility }, index) =>
    visibility === 'internal' ? [] : [{ artifact_name: ids[index], description, mime: mimeOf(filename), filename }],
  )
}
