import { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'
import { filePath } from '../../core/path/build.ts'
import { dropOwnConversation, formatPath, isInOtherConversation, parsePath } from '../../core/path/logical.ts'
import type { Hydration, HydrationRef, RecordedFiles, Workspace } from '../../ports/workspace.ts'
import { historyOf } from '../artifacts/history.ts'
import { defineTool } from '../define.ts'
import { mimeOf } from '../mime.ts'
import { failed, succeeded } from '../outcome.ts'

const MAX_PATHS = 50
const MAX_REPORTED = 50

const params = z.object({
  paths: z
    .union([z.string(), z.array(z.string())])
    .describe('fi:<turn>.files/<file or folder>, fi:<turn>.outputs/<file>, fi:<turn>.user.attachments/<name>'),
})

/** One path that the model wants to pull. */
interface PullRequest {
  /** The path as the model wrote it. */
  readonly given: string
  readonly turnId: string
  readonly ref: HydrationRef
}

interface InvalidPath {
  readonly path: string
  readonly reason: string
}

/** The tool `react.pull`: copies files of earlier turns into the workspace, read-only. */
export const createPullTool = () =>
  defineTool({
    id: 'react.pull',
    description:
      'Bring files of earlier turns here as read-only reference, below their own turn. This does not change the current workspace.',
    params,
    strategy: 'exploration',
    repeatable: true,
    returns: 'where the files are, and what could not be had',
    constraints: [
      'folders only below files/; outputs and attachments one by one, by their exact names',
      'to continue work on earlier files use react.checkout: pulled files can not be changed',
    ],
    async run({ paths }, call) {
      const requested = [...new Set(typeof paths === 'string' ? [paths] : paths)]
      const given = requested.slice(0, MAX_PATHS)
      const parsed = given.map((path) => parseRef(path, call.conversationId))
      const overLimit = requested.slice(MAX_PATHS, MAX_PATHS + MAX_REPORTED).map((path) => ({ path, reason: 'too_many_paths_in_one_call' }))
      const invalid: InvalidPath[] = [...parsed.filter((each) => 'reason' in each), ...overLimit]
      const requests = withoutDuplicates(parsed.filter((each) => 'ref' in each))
      const workspace = requests.length > 0 ? await call.workspace() : undefined
      const history = historyOf(call)
      const pulled: JsonObject[] = []
      const [missing, errors]: [string[], JsonObject[]] = [[], []]
      for (const [turnId, group] of Map.groupBy(requests, (request) => request.turnId)) {
        const hydration = await (workspace as Workspace).hydrate(
          turnId,
          group.map(({ ref }) => ref),
          history,
        )
        pulled.push(...hydration.present.map((present) => pulledRow(turnId, present)))
        for (const ref of hydration.missing) {
          const path = requestedPath(group, ref)
          if (await isFolder(turnId, ref, history)) invalid.push({ path, reason: exactFileReasons[ref.area] })
          else missing.push(path)
        }
        errors.push(...hydration.errors.map(({ ref, ...about }) => ({ path: requestedPath(group, ref), ...about })))
      }
      const output = {
        requested: given,
        pulled,
        ...(missing.length > 0 && { missing }),
        ...(invalid.length > 0 && { invalid: invalid.map(({ path, reason }) => ({ path, reason })) }),
        ...(errors.length > 0 && { errors }),
      }
      const unavailable = errors.find(({ code }) => code === 'workspace_version_unavailable')
      if (unavailable) return failed('workspace_version_unavailable', unavailableMessage(unavailable), { output })
      if (pulled.length > 0) return succeeded({ output })
      const message = 'Nothing was pulled: none of these paths leads to a file that can be had. Look at missing and invalid.'
      return failed('pull_nothing_resolved', message, { notices: [{ code: 'pull_nothing_resolved', message }], output })
    },
  })

const unavailableMessage = ({ path, message }: JsonObject) =>
  `${path} was not pulled: ${message}. Look at pulled for what is here. Try again later, or go on without these files and say so in the answer.`

function parseRef(given: string, conversationId: string): PullRequest | InvalidPath {
  if (!/^(conv:)?fi:/.test(given)) return { path: given, reason: 'react.pull accepts fi: refs' }
  const path = parsePath(dropOwnConversation(given, conversationId))
  if (isInOtherConversation(path)) return { path: given, reason: 'in_another_conversation' }
  if (path?.space !== 'fi' || path.kind === 'code') return { path: given, reason: 'unresolvable_fi_ref' }
  const { turn: turnId, area, rel } = path
  if (area !== 'files' && path.kind === 'folder') return { path: given, reason: exactFileReasons[area] }
  return { given, turnId, ref: { area, rel } }
}

/**
 * Whether a path is a folder. The model may omit the slash at the end of a folder. Such a path is a folder if there are recorded files
 * below it.
 */
async function isFolder(turnId: string, { area, rel }: HydrationRef, history: RecordedFiles): Promise<boolean> {
  return area !== 'files' && (await history.paths(turnId)).some((path) => path.startsWith(`${filePath(turnId, area, rel)}/`))
}

const exactFileReasons = {
  files: 'unresolvable_fi_ref',
  outputs: 'output_pulls_require_exact_file_ref',
  attachments: 'attachment_pulls_require_exact_file_ref',
} as const

/** Removes duplicates. Two paths that are written differently but name the same file are duplicates. */
function withoutDuplicates(requests: readonly PullRequest[]): readonly PullRequest[] {
  return [...new Map(requests.map((each) => [`${each.turnId}/${each.ref.area}/${each.ref.rel}`, each])).values()]
}

const requestedPath = (group: readonly PullRequest[], ref: HydrationRef) => group.find((each) => each.ref === ref)?.given ?? ''

function pulledRow(turnId: string, { ref, files }: Hydration['present'][number]): JsonObject {
  const { area, rel } = ref
  const root = rel === '' ? `${turnId}/${area}` : `${turnId}/${area}/${rel}`
  const [only] = files
  if (files.length === 1 && only?.path === root) {
    return { logical_path: filePath(turnId, area, rel), physical_path: root, file_count: 1, mime: mimeOf(root), size_bytes: only.size }
  }
  const logical = formatPath({ space: 'fi', kind: 'folder', turn: turnId, area, rel })
  return {
    logical_root: logical,
    physical_root: `${root}/`,
    file_count: files.length,
    ...fileTree(files.map(({ path }) => path.slice(root.length + 1))),
    path_rule: { logical: `${logical}<path>`, physical: `${root}/<path>` },
  }
}

/** The files in a folder, for the result of a tool: the paths of the first files, and the number of the files that are not listed. */
export function fileTree(rels: readonly string[]) {
  const shown = rels.slice(0, MAX_TREE_FILES)
  return { tree: [...shown], tree_truncated: rels.length > MAX_TREE_FILES, omitted_files: rels.length - shown.length }
}

const MAX_TREE_FILES = 80
