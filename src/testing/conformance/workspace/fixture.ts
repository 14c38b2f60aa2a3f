import { filePath } from '../../../core/path/build.ts'
import { parsePath } from '../../../core/path/logical.ts'
import { localScope } from '../../../core/scope.ts'
import type {
  CheckoutOutcome,
  CheckoutRequest,
  CheckoutSource,
  PublishOutcome,
  RecordedFiles,
  Workspace,
  Workspaces,
} from '../../../ports/workspace.ts'

/** The workspaces under test on one machine. */
export interface WorkspaceFixture {
  readonly workspaces: Workspaces
  /** Opens the workspaces as on another machine. That machine can access the same storage of versions, but has no local files yet. */
  elsewhere(): Promise<Workspaces>
}

/** Opens an empty workspace for one test. */
export type CreateWorkspaceFixture = () => Promise<WorkspaceFixture>

export const openWorkspace = ({ workspaces }: Pick<WorkspaceFixture, 'workspaces'>, conversationId = 'c1'): Promise<Workspace> =>
  workspaces.open(localScope, conversationId)

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
export const text = (content: Uint8Array | undefined): string | undefined => content && new TextDecoder().decode(content)

/**
 * Replaces the journal in tests. It has the two kinds of data that a workspace reads from a journal: the files that blocks store, and the
 * records of published versions.
 */
export interface TestJournal extends RecordedFiles {
  /** Adds a turn to this journal. */
  begin(turnId: string): void
  /** Adds a file to this journal. In a real journal, a block stores the file. */
  record(logical: string, content: Uint8Array): void
  publish(workspace: Workspace, turnId: string): Promise<PublishOutcome>
  /** Removes the record of a turn, and all its other entries, as a retention policy does. */
  remove(turnId: string): void
}

/** The time of the versions that `TestJournal` publishes. */
export const publishTime = '2026-01-02T03:04:05.000Z'

export function createTestJournal(): TestJournal {
  const recorded = new Map<string, Uint8Array>()
  const published = new Map<string, { readonly record: string; readonly keeps: ReadonlySet<string> }>()
  const turns = new Set<string>()
  let previous: string | undefined
  const journal: TestJournal = {
    bytes: async (logical) => recorded.get(logical),
    paths: async (turnId) => [...recorded.keys()].filter((logical) => turnOf(logical) === turnId),
    made: (turnId) => journal.paths(turnId),
    manifest: async (turnId) => JSON.parse(published.get(turnId)?.record ?? 'null') as unknown,
    keeps: async (turnId) => published.get(turnId)?.keeps ?? new Set(),
    hasTurn: async (turnId) => turns.has(turnId),
    begin: (turnId) => void turns.add(turnId),
    record: (logical, content) => void recorded.set(logical, content),
    remove(turnId) {
      turns.delete(turnId)
      published.delete(turnId)
      if (previous === turnId) previous = undefined
    },
    async publish(workspace, turnId) {
      const result = await workspace.publish(turnId, { at: publishTime, previous }, journal)
      published.set(turnId, { record: JSON.stringify(result.record), keeps: new Set(result.keeps?.map(({ sha256 }) => sha256)) })
      if (result.status === 'published') previous = turnId
      return result
    },
  }
  return journal
}

function turnOf(logical: string): string | undefined {
  const path = parsePath(logical)
  return path?.space === 'fi' && path.kind === 'file' ? path.turn : undefined
}

/** Parses the short form of a checkout source: a turn, such as `turn_1`, or a scope of a turn, such as `turn_1/app`. */
export function source(name: string): CheckoutSource {
  const slash = name.indexOf('/')
  return slash < 0 ? { turnId: name, rel: '' } : { turnId: name.slice(0, slash), rel: name.slice(slash + 1) }
}

/** A running turn, with the file operations that the conformance suites need. */
export interface TestTurn {
  write(rel: string, content: string): Promise<void>
  /** Writes a file and also adds it to the journal, as a tool does. `write` only writes the file, as a program does. */
  writeRecorded(rel: string, content: string): Promise<void>
  remove(rel: string): Promise<void>
  checkout(mode: CheckoutRequest['mode'], sources: readonly string[], force?: boolean): Promise<CheckoutOutcome>
  publish(): Promise<PublishOutcome>
  /** The content of each file in the folder `files/` of the turn. */
  files(): Promise<Record<string, string>>
}

/** Begins a turn. With `options`, first makes the version of the turn `adopt` the base of the next version, as an agent does. */
export async function beginTurn(
  workspace: Workspace,
  turnId: string,
  journal: TestJournal,
  options?: { readonly adopt: string | undefined },
): Promise<TestTurn> {
  const latest = options?.adopt === undefined ? undefined : { turn_id: options.adopt, ts: publishTime }
  journal.begin(turnId)
  if (options) await workspace.adoptVersion(async () => latest, journal)
  await workspace.startTurn(turnId)
  const place = (rel: string) => `${turnId}/files/${rel}`
  const write = (rel: string, content: string) => workspace.files.write(place(rel), bytes(content))
  return {
    write,
    async writeRecorded(rel, content) {
      journal.record(filePath(turnId, 'files', rel), bytes(content))
      await write(rel, content)
    },
    async remove(rel) {
      await workspace.files.remove(place(rel))
    },
    checkout: (mode, sources, force) =>
      workspace.checkout(turnId, { mode, sources: sources.map(source), ...(force !== undefined && { force }) }, journal),
    publish: () => journal.publish(workspace, turnId),
    files: () => contentsBelow(workspace, `${turnId}/files`),
  }
}

export async function contentsBelow(workspace: Workspace, folder: string): Promise<Record<string, string>> {
  const { files } = await workspace.files.list(folder, { dotEntries: true })
  const read = await Promise.all(
    files.map(async ({ path }) => [path.slice(folder.length + 1), text(await workspace.files.read(path)) ?? ''] as const),
  )
  return Object.fromEntries(read)
}

/** Runs a turn that writes these files and publishes them. */
export async function publishTurn(
  workspace: Workspace,
  turnId: string,
  journal: TestJournal,
  files: Record<string, string>,
): Promise<PublishOutcome> {
  const turn = await beginTurn(workspace, turnId, journal)
  for (const [rel, content] of Object.entries(files)) await turn.write(rel, content)
  return turn.publish()
}

export const relsOf = async (workspace: Workspace, turnId: string, journal: TestJournal): Promise<readonly string[] | undefined> =>
  (await workspace.version(turnId, journal))?.map(({ rel }) => rel)
