import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { ContractedFile } from '../../core/contract/contract.ts'
import { Failure } from '../../core/failure.ts'
import { toLogical } from '../../core/path/physical.ts'
import { wasMadeByAnotherCall } from '../../core/timeline/artifacts.ts'
import type { FileInfo, Files } from '../../ports/files.ts'
import type { SandboxLanguage, SandboxReport } from '../../ports/sandbox.ts'
import type { DiskFolders, Workspace } from '../../ports/workspace.ts'
import { decodeText, isTextMime, mimeOf } from '../mime.ts'
import { reported } from '../outcome.ts'
import { textFacts } from '../react/text-artifact.ts'
import type { Call, MadeArtifact, Outcome } from '../tool.ts'
import { createAnswers } from './answers.ts'
import { checkFile, type FileProblem } from './check-file.ts'
import type { ExecOptions } from './exec-tools.ts'
import { writeLogs } from './logs.ts'
import { type ProgramRun, reportOf, runtimeErrorOf } from './report.ts'

/** A program that is ready to run. */
interface PreparedProgram {
  readonly contract: readonly ContractedFile[]
  readonly language: SandboxLanguage
  readonly timeoutSeconds: number
  readonly folders: DiskFolders
  readonly workspace: Workspace
}

/**
 * Runs a program in the sandbox. Then checks the files of the contract, keeps some other files that the program made in `outputs/`, and
 * writes the report. Valid files are delivered even if the program failed, was cancelled or reached a limit.
 */
export async function runProgram(program: PreparedProgram, call: Call, options: ExecOptions): Promise<Outcome> {
  const { contract, language, folders, workspace } = program
  const { callId: execId, turnId } = call.origin
  const code = call.code ?? ''
  const startedAt = call.clock.now()
  const before = await producedFiles(folders.files, turnId)
  const older = await olderFiles(contract, folders.files)
  const answers = createAnswers(call, { ...workspace, files: folders.files }, options)
  const context = await contextFiles(workspace.runtime, folders.runtime)
  // The program does not wait until the records of the run are written.
  const kept = recorded(keepProgram(workspace.runtime, execId, language, code), call)
  const raw = await options.sandbox.run({
    execId,
    language: language.id,
    code,
    folders: { out: folders.out, turn: turnId, work: folders.work, context },
    timeoutSeconds: program.timeoutSeconds,
    signal: call.signal,
    tools: options.callable.map(({ id }) => id),
    answer: answers.answer,
  })
  await answers.close()
  const report = withoutHostPaths(raw, folders)
  const logged = recorded(writeLogs(workspace.runtime, { execId, startedAt }, report, endingText(report)), call)
  const files = await collectFiles(contract, older, folders.files, call, options)
  const nested = answers.results()
  const known = new Set([
    ...contract.map(({ filename }) => filename),
    ...(nested.artifacts ?? []).map(({ digest }) => digest.physical_path),
  ])
  const undeclared = await keepUndeclared(before, known, folders.files, call, options)
  await Promise.all([kept, logged])
  const result: ProgramRun = { execId, report, ...files, undeclared, toolCalls: answers.calls() }
  const { report: execReport, error } = reportOf(result)
  const artifacts = [...(nested.artifacts ?? []), ...files.artifacts, ...undeclared.artifacts]
  return reported(execReport, error, { ...nested, ...(artifacts.length > 0 && { artifacts }) })
}

/**
 * Waits until a record of the run is written. If it can not be written, the problem is reported to the operator. The result of the program
 * does not depend on it.
 */
const recorded = (writing: Promise<void>, { onProblem }: Call): Promise<void> =>
  writing.catch((error: unknown) => onProblem?.({ where: 'records of a program', error }))

const mainFiles = { python: 'main.py', javascript: 'main.mjs' } as const satisfies Record<SandboxLanguage['id'], string>

/** Keeps a copy of the program and of the loader in the folder of the runtime, where the program can not change it. */
async function keepProgram(runtime: Files, execId: string, { id, loader }: SandboxLanguage, code: string): Promise<void> {
  const write = (name: string, text: string) => runtime.write(`executed_programs/${execId}/${name}`, Buffer.from(text), { durable: false })
  await write(mainFiles[id], code)
  if (loader !== undefined) await write(`loader.${id === 'python' ? 'py' : 'mjs'}`, loader)
}

/** The context files that exist: the key is the name for the program, and the value is the path on disk. */
async function contextFiles(runtime: Files, folder: string): Promise<Readonly<Record<string, string>>> {
  const names = ['timeline.json', 'sources_pool.json']
  const present = await Promise.all(names.map(async (name) => ((await runtime.stat(name)) ? [[name, join(folder, name)] as const] : [])))
  return Object.fromEntries(present.flat())
}

/** The model must not learn where the folders are on the host, so their paths are replaced by the names that programs use. */
function withoutHostPaths(report: SandboxReport, { out, work, runtime }: DiskFolders): SandboxReport {
  const strip = (text: string) => text.replaceAll(out, 'OUTPUT_DIR').replaceAll(work, 'WORKDIR').replaceAll(runtime, 'CONTEXT_DIR')
  const { end } = report
  return {
    ...report,
    log: strip(report.log),
    sandboxLog: strip(report.sandboxLog),
    end: 'message' in end ? { ...end, message: strip(end.message) } : end,
  }
}

function endingText(report: SandboxReport): string {
  const error = runtimeErrorOf(report)
  return error ? `ended with ${error.code}: ${error.message}` : 'ended without an error'
}

interface CollectedFiles extends Pick<ProgramRun, 'succeeded' | 'fileErrors'> {
  readonly artifacts: readonly MadeArtifact[]
}

/** Checks the files of the contract one after the other, because each may be large. */
async function collectFiles(
  contract: readonly ContractedFile[],
  older: OlderFiles,
  files: Files,
  call: Call,
  options: ExecOptions,
): Promise<CollectedFiles> {
  const artifacts: MadeArtifact[] = []
  const fileErrors: ProgramRun['fileErrors'][number][] = []
  for (const { filename, description, visibility } of contract) {
    const checked = await checkFile(files, filename, options.sandbox.limits.fileBytes)
    const mark = older.get(filename)
    if (checked.ok && mark !== undefined && mark === (await writeMark(files, filename))) fileErrors.push({ path: filename, ...leftAlone })
    else if (checked.ok) artifacts.push(await artifactOf(filename, checked.bytes, { description, visibility }, call))
    else fileErrors.push({ path: filename, ...checked.problem })
  }
  return { artifacts, fileErrors, succeeded: artifacts.map(({ digest }) => digest.physical_path ?? '') }
}

const leftAlone: FileProblem = { code: 'missing_file', message: 'file not produced: the file at this path is older than this run' }

/**
 * The files of the contract that exist before the program runs, by path. The value changes whenever the file is written, even with the same
 * content.
 */
type OlderFiles = ReadonlyMap<string, string>

async function olderFiles(contract: readonly ContractedFile[], files: Files): Promise<OlderFiles> {
  const marks = await Promise.all(contract.map(async ({ filename }) => [filename, await writeMark(files, filename)] as const))
  return new Map(marks.flatMap(([filename, mark]) => (mark === undefined ? [] : [[filename, mark]])))
}

/**
 * A text with the time of the last write and a hash of the content. The time alone is not enough, because some file systems store it
 * coarsely.
 */
async function writeMark(files: Files, path: string): Promise<string | undefined> {
  const info = await files.stat(path).catch(emptyIfUnsafe)
  return info && `${info.writtenAtMs} ${await contentMark(files, path, info.size)}`
}

/**
 * Files of a program up to this size are put into the result as bytes. Larger files are stored as blobs, and the blocks of the result refer
 * to them.
 */
const maxBytesInMemory = 20_000
/** Larger texts are not read to count their lines and tokens. */
const maxCountedBytes = 1024 * 1024

async function artifactOf(
  physical: string,
  bytes: Uint8Array,
  { description, visibility }: Pick<ContractedFile, 'description' | 'visibility'>,
  call: Call,
): Promise<MadeArtifact> {
  const { turnId, callId } = call.origin
  const mime = mimeOf(physical)
  const path = toLogical(physical, new Set([turnId])) ?? physical
  const text = isTextMime(mime) && bytes.length <= maxCountedBytes ? decodeText(bytes) : undefined
  const digest = {
    artifact_path: path,
    physical_path: physical,
    mime,
    kind: 'file' as const,
    visibility,
    edited: wasMadeByAnotherCall(call.timeline, path, callId),
    description,
    size_bytes: bytes.length,
    ...(text !== undefined && textFacts(text, mime, call)),
  }
  return { digest, mime, ...(bytes.length <= maxBytesInMemory ? { bytes } : { blob: await call.blobs.put(bytes) }) }
}

const maxUndeclared = 50

type Undeclared = ProgramRun['undeclared'] & { readonly artifacts: readonly MadeArtifact[] }

/**
 * Finds the files that the program created or changed and that are not `known`: neither the contract nor a called tool names them. Those in
 * `outputs/` are stored as internal files, because they would be lost at the end of the turn. New files in `files/` are only named in the
 * report, because the version of the turn contains them.
 */
async function keepUndeclared(
  before: ProducedFiles,
  known: ReadonlySet<string | undefined>,
  files: Files,
  call: Call,
  { sandbox }: ExecOptions,
): Promise<Undeclared> {
  const { turnId } = call.origin
  const after = await producedFiles(files, turnId)
  const written = [...after].flatMap(([path, content]) => (before.get(path) === content || known.has(path) ? [] : [path]))
  const artifacts: MadeArtifact[] = []
  const left: string[] = []
  for (const path of written.slice(0, maxUndeclared)) {
    if (!path.startsWith(`${turnId}/outputs/`)) {
      left.push(path)
      continue
    }
    const checked = await checkFile(files, path, sandbox.limits.fileBytes)
    if (!checked.ok) continue
    const how = before.has(path) ? 'changed' : 'made'
    const about = { description: `${how} by a program, not in its contract`, visibility: 'internal' as const }
    artifacts.push({ ...(await artifactOf(path, checked.bytes, about, call)), withoutContent: true })
  }
  const kept = artifacts.map(({ digest }) => digest.physical_path ?? '')
  return { kept, left, more: Math.max(0, written.length - maxUndeclared), artifacts }
}

/** Folders whose files are not kept after the turn. */
const unkeptFolders: ReadonlySet<string> = new Set(['tmp', '__pycache__', 'node_modules'])

/** Files by path. In `outputs/`, the value changes when the content of the file changes. In `files/`, it is always the same. */
type ProducedFiles = ReadonlyMap<string, string>

/** The files in `files/` and `outputs/` of the turn, without those in `unkeptFolders` and without names that begin with a dot. */
async function producedFiles(files: Files, turnId: string): Promise<ProducedFiles> {
  const [inFiles, inOutputs] = await Promise.all(['files', 'outputs'].map((area) => listSafely(files, `${turnId}/${area}`)))
  const produced = new Map((inFiles ?? []).map(({ path }) => [path, '']))
  for (const { path, size } of inOutputs ?? []) produced.set(path, await contentMark(files, path, size))
  return produced
}

/**
 * All files up to this size are read before and after a program, to find changes. A change of a larger file is noticed only if its size
 * changes.
 */
const maxComparedBytes = 1024 * 1024

async function contentMark(files: Files, path: string, size: number): Promise<string> {
  if (size > maxComparedBytes) return `${size}`
  const bytes = await files.read(path, { maxBytes: maxComparedBytes }).catch(emptyIfUnsafe)
  return createHash('sha256')
    .update(bytes ?? '')
    .digest('hex')
}

/** The files in a folder that are kept after the turn. Empty when a program has replaced the folder by a link or a file. */
async function listSafely(files: Files, folder: string): Promise<readonly FileInfo[]> {
  const { files: listed } = (await files.list(folder).catch(emptyIfUnsafe)) ?? { files: [] }
  return listed.filter(({ path }) => !path.split('/').some((name) => unkeptFolders.has(name)))
}

/** Returns undefined if a program has replaced the file or folder by something that is not safe to open. Throws any other error again. */
function emptyIfUnsafe(error: unknown): undefined {
  if (!(error instanceof Failure) || error.code !== 'file.unsafe') throw error
}
