import { Failure } from '../../core/failure.ts'
import { formatPath, parsePath } from '../../core/path/logical.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import { knownTurns } from '../../core/timeline/turns.ts'
import type { Files } from '../../ports/files.ts'
import type { Workspace } from '../../ports/workspace.ts'
import { historyOf } from '../artifacts/history.ts'
import { failed } from '../outcome.ts'
import type { Call, Outcome } from '../tool.ts'

/** A path in a program that names a file or folder of an earlier turn. */
interface EarlierPath {
  readonly turn: string
  readonly area: 'files' | 'outputs' | 'attachments'
  /** The path below `files/`, `outputs/` or `attachments/` of the turn. Empty for the whole folder. */
  readonly rel: string
}

const maxListed = 20

/**
 * The error of a call whose program names files of earlier turns that exist but are not on this machine. It says how to pull them.
 * Undefined when nothing has to be pulled. If there is no stored file for a path, the program still runs, because the text may be data that
 * looks like a path.
 */
export async function pullRefusal(call: Call, workspace: Workspace): Promise<Outcome | undefined> {
  const missing: string[] = []
  const logical: string[] = []
  for (const path of earlierPaths(call.code ?? '', call)) {
    const physical = [path.turn, path.area, path.rel].filter((part) => part !== '').join('/')
    if (await isPresent(workspace.files, physical)) continue
    const refs = await pullableRefs(path, call, workspace)
    if (refs.length === 0) continue
    missing.push(physical)
    logical.push(...refs)
  }
  if (missing.length === 0) return undefined
  const listed = missing.slice(0, maxListed)
  const paths = [...new Set(logical)].slice(0, maxListed)
  const message = `The program names files of earlier turns that are not on this machine: ${listed.join(', ')}. Nothing ran. Pull them with react.pull, then send the call again with its program.`
  return failed('pre_exec_pull_required', message, {
    details: { missing: listed, logical_missing: paths, pull_hint: { tool_id: 'react.pull', params: { paths } } },
  })
}

/** Matches a path such as `turn_1/files/a.csv`, also at the end of a longer path. */
const turnPath = /(?<![\w-])([\w-]{1,128})\/(files|outputs|attachments)(?![\w-])(?:\/([^\s"'`\\<>|*?,;:()[\]{}$]{0,1024}))?/g

function earlierPaths(program: string, { timeline, origin }: Call): readonly EarlierPath[] {
  const turns = new Set(knownTurns(timeline))
  turns.delete(origin.turnId)
  const paths = new Map<string, EarlierPath>()
  for (const [, turn = '', area = '', rest = ''] of program.matchAll(turnPath)) {
    let { length } = rest
    while (length > 0 && './'.includes(rest.charAt(length - 1))) length-- // the path may be at the end of a sentence
    const rel = rest.slice(0, length)
    if (!turns.has(turn) || unsafeReason(`${turn}/${area}/${rel || 'x'}`) !== undefined) continue
    paths.set(`${turn}/${area}/${rel}`, { turn, area: area as EarlierPath['area'], rel })
  }
  return [...paths.values()]
}

/** Whether there is a file at this path, or a folder with files. */
async function isPresent(files: Files, physical: string): Promise<boolean> {
  try {
    if ((await files.stat(physical)) !== undefined) return true
  } catch (error) {
    if (!isUnsafeFile(error)) throw error // a folder is reported as an unsafe file
  }
  try {
    return (await files.list(physical, { limit: 1 })).files.length > 0
  } catch (error) {
    if (isUnsafeFile(error)) return true // the program will get the error
    throw error
  }
}

const isUnsafeFile = (error: unknown) => error instanceof Failure && error.code === 'file.unsafe'

/**
 * The logical paths with which `react.pull` fetches a path. Folders can be pulled only in `files`, so for other areas the files are listed.
 * Empty when the turn has left no such file.
 */
async function pullableRefs({ turn, area, rel }: EarlierPath, call: Call, workspace: Workspace): Promise<readonly string[]> {
  const matches = (other: string) => rel === '' || other === rel || other.startsWith(`${rel}/`)
  const whole = formatPath({ space: 'fi', kind: rel === '' ? 'folder' : 'file', turn, area, rel: rel.normalize('NFC') })
  if (area === 'files') {
    const version = await versionFiles(turn, call, workspace)
    if (version === 'unavailable' || version?.some((file) => matches(file.rel))) return [whole]
    if (version) return []
  }
  const recorded = (await historyOf(call).paths(turn)).flatMap((logical) => {
    const parsed = parsePath(logical)
    return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.area === area && matches(parsed.rel) ? [formatPath(parsed)] : []
  })
  return recorded.length === 0 || area !== 'files' ? recorded : [whole]
}

async function versionFiles(turn: string, call: Call, workspace: Workspace) {
  try {
    return await workspace.version(turn, historyOf(call))
  } catch (error) {
    if (error instanceof Failure && error.code === 'workspace.failed') return 'unavailable' as const
    throw error
  }
}
