import { filePath } from '../../core/path/build.ts'
import { parsePath } from '../../core/path/logical.ts'
import { localScope } from '../../core/scope.ts'
import type {
  CheckoutOutcome,
  CheckoutRequest,
  CheckoutSource,
  PublishOutcome,
  RecordedFiles,
  Workspace,
  Workspaces,
} from '../../ports/workspace.ts'

/** A kind of workspaces on a machine of its own. */
export interface WorkspaceFixture {
  readonly workspaces: Workspaces
  /** Another machine, on which nothing is, with the same things behind both. */
  elsewhere(): Promise<Workspaces>
}

export type CreateWorkspaceFixture = () => Promise<WorkspaceFixture>

export const openWorkspace = ({ workspaces }: Pick<WorkspaceFixture, 'workspaces'>, conversation = 'c1'): Promise<Workspace> =>
  workspaces.open(localScope, conversation)

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
export const text = (content: Uint8Array | undefined): string | undefined => content && new TextDecoder().decode(content)

/** What a workspace asks of a journal, and nothing else of one: records of files, and of what was published. */
export interface TestJournal extends RecordedFiles {
  /** A block holds these bytes. */
  record(logical: string, content: Uint8Array): void
  publish(workspace: Workspace, turnId: string): Promise<PublishOutcome>
}

export function createTestJournal(): TestJournal {
  const recorded = new Map<string, Uint8Array>()
  const published = new Map<string, string>()
  let previous: string | undefined
  const journal: TestJournal = {
    bytes: async (logical) => recorded.get(logical),
    paths: async (turnId) => [...recorded.keys()].filter((logical) => turnOf(logical) === turnId),
    manifest: async (turnId) => JSON.parse(published.get(turnId) ?? 'null') as unknown,
    record: (logical, content) => void recorded.set(logical, content),
    async publish(workspace, turnId) {
      const result = await workspace.publish(turnId, { previous }, journal)
      published.set(turnId, JSON.stringify(result.record))
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

/** `turn_1`, `turn_1/app`. */
export function source(name: string): CheckoutSource {
  const slash = name.indexOf('/')
  return slash < 0 ? { turnId: name, rel: '' } : { turnId: name.slice(0, slash), rel: name.slice(slash + 1) }
}

/** A turn in the hands of a test. */
export interface TestTurn {
  write(rel: string, content: string): Promise<void>
  /** By a tool that leaves a block. */
  writeRecorded(rel: string, content: string): Promise<void>
  remove(rel: string): Promise<void>
  checkout(mode: CheckoutRequest['mode'], sources: readonly string[], force?: boolean): Promise<CheckoutOutcome>
  publish(): Promise<PublishOutcome>
  /** What `files/` holds now. */
  files(): Promise<Record<string, string>>
}

export async function beginTurn(workspace: Workspace, turnId: string, journal: TestJournal): Promise<TestTurn> {
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

/** A turn that writes these files and publishes them. */
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
