import { artifactIds, readContract } from '../contract/contract.ts'
import type { ChannelFormat } from './channel.ts'
import type { JsonValue } from './json-event.ts'
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

export interface ExecStatus {
  readonly status: 'gen' | 'exec' | 'done' | 'error'
  /** Milliseconds, as far as they are known. */
  readonly timings: { readonly codegen?: number; readonly exec?: number }
  readonly error?: string
}

const toolPrefix = 'exec_tools.execute_code_'

/** The language of an exec tool; undefined for any other tool. */
export function execLanguage(toolId: string): string | undefined {
  return toolId.startsWith(toolPrefix) && toolId.length > toolPrefix.length ? toolId.slice(toolPrefix.length) : undefined
}

/** A status replaces the one before it, so its index is always 0. The loop says `exec`, `done` and `error`; the lanes say the rest. */
export function execStatusDelta(executionId: string, status: ExecStatus): LaneDelta {
  const completed = status.status === 'done' || status.status === 'error'
  return { ...execStyle(executionId, 'code_exec.status', 'json'), index: 0, text: JSON.stringify(status), completed }
}

export interface ExecSettings {
  readonly executionId: string
  readonly replacer: CreateReplacer
  readonly mimeOf: (filename: string) => string
}

/** The widget of a program while it is written: gen, name, objective, code, contract; or that there was no code. */
export interface ExecLanes {
  /** The action calls an exec tool. */
  start(language: string): void
  /** The action is whole. */
  describe(params: JsonValue | undefined, notes: string): void
  /** The action calls something else: code, if any comes, is nobody's. */
  discard(): void
  write(code: string): void
  endCode(ending: LaneEnd): void
  end(): void
}

export function createExecLanes({ executionId, replacer, mimeOf }: ExecSettings, emit: EmitDelta): ExecLanes {
  const code = createHeldLane()
  let started = false
  let seen = false
  let params: { readonly [key: string]: JsonValue } = {}

  function once(subType: string, format: ChannelFormat, text: string) {
    if (text.trim() === '') return
    const lane = createLane(
      execStyle(executionId, subType, format),
      format === 'markdown' ? () => replacer('markdown') : withoutRewriting,
      emit,
    )
    lane.write(text)
    lane.end('whole')
  }

  return {
    start(language) {
      if (started || code.state === 'dropped') return
      started = true
      emit(execStatusDelta(executionId, { status: 'gen', timings: {} }))
      code.release(createLazyLane(execStyle(executionId, 'code_exec.code', 'text', language), withoutRewriting, emit))
    },
    describe(given, notes) {
      if (!started) return
      if (typeof given === 'object' && given !== null && !Array.isArray(given)) params = given as typeof params
      if (typeof params.prog_name === 'string') once('code_exec.program.name', 'text', params.prog_name)
      once('code_exec.objective', 'markdown', notes)
    },
    discard() {
      if (!started) code.drop()
    },
    write(text) {
      seen ||= text.trim() !== ''
      code.write(text)
    },
    endCode: code.end,
    end() {
      if (!started) return
      const contract = listedFiles(params.contract, mimeOf)
      if (!seen) emit(execStatusDelta(executionId, { status: 'error', timings: {}, error: 'missing_code' }))
      else once('code_exec.contract', 'json', JSON.stringify({ execution_id: executionId, contract }))
    },
  }
}

function execStyle(executionId: string, subType: string, format: ChannelFormat, language?: string) {
  return {
    marker: 'subsystem',
    artifactName: `react.exec.${executionId}.${subType.replaceAll('.', '_')}`,
    format,
    extra: { execution_id: executionId, sub_type: subType, ...(language !== undefined && { language }) },
  } as const
}

/**
 * The promised files that a person will see. What is internal is not listed to anyone, but it is numbered with the others. Of a contract
 * that is refused nothing is: those files will not be made.
 */
function listedFiles(given: JsonValue | undefined, mimeOf: (filename: string) => string) {
  const contract = readContract(given)
  if (!contract.ok) return []
  const ids = artifactIds(contract.files.map(({ filename }) => filename))
  return contract.files.flatMap(({ filename, description, visibility }, index) =>
    visibility === 'internal' ? [] : [{ artifact_name: ids[index], description, mime: mimeOf(filename), filename }],
  )
}
