import type { Caps } from '../render/caps.ts'
import { joinLines, oneLine } from '../render/text.ts'
import type { Section } from './announce.ts'

/** One folder or file directly below `files/`, and the number of files in it. */
export interface WorkspaceScope {
  readonly name: string
  readonly files: number
}

/**
 * The state of the workspace. `currentTurnRoot` and `turnRoots` are paths relative to OUT_DIR, the folder that contains the folders of all
 * turns.
 */
export interface AnnouncedWorkspace {
  readonly implementation: 'custom' | 'git'
  readonly currentTurnRoot: string
  /** The folders of the turns that have files on this machine, oldest turn first. */
  readonly turnRoots?: readonly string[]
  readonly editable?: readonly WorkspaceScope[]
  readonly checkedOutFrom?: string
  readonly checkoutMode?: 'replace' | 'overlay'
  /** The scopes of the newest published version. Undefined when they are not known. */
  readonly lineage?: readonly WorkspaceScope[]
  readonly lastPublishedTurn?: string
  readonly git?: {
    readonly status: 'clean' | 'dirty' | 'uninitialized' | 'unavailable'
    readonly currentTurnPublish?: string
    readonly publishError?: string
  }
}

export function workspaceSection(workspace: AnnouncedWorkspace, limits: Caps): Section {
  const {
    implementation,
    currentTurnRoot,
    turnRoots = [],
    editable,
    checkedOutFrom,
    checkoutMode,
    lineage,
    lastPublishedTurn,
    git,
  } = workspace
  const fact = (name: string, value: string | undefined) =>
    value === undefined ? undefined : `  ${name}: ${oneLine(value, limits.announceLine)}`
  const roots = turnRoots.slice(-limits.turnRoots)
  return joinLines(
    '[WORKSPACE]',
    fact('implementation', implementation),
    fact('current_turn_root', currentTurnRoot),
    roots.length === 0 ? undefined : '  local turn roots:',
    ...roots.map((root) => `    - ${oneLine(root, limits.announceLine)} (${root === currentTurnRoot ? 'current' : 'read-only'})`),
    ...scopeLines('current editable workspace', editable, limits),
    fact('checked_out_from', checkedOutFrom),
    fact('checkout_mode', checkoutMode),
    ...(git ? ['  repo_mode: git repo', fact('repo_status', git.status)] : []),
    ...scopeLines('ls workspace', lineage, limits),
    fact('current_turn_publish', git?.currentTurnPublish),
    fact('last_published_turn', lastPublishedTurn),
    fact('publish_error', git?.publishError),
  )
}

function scopeLines(name: string, scopes: readonly WorkspaceScope[] | undefined, limits: Caps): readonly string[] {
  if (scopes === undefined) return []
  if (scopes.length === 0) return [`  ${name}: (empty)`]
  const more = scopes.length - limits.workspaceScopes
  const shown = scopes
    .slice(0, limits.workspaceScopes)
    .map(({ name: scope, files }) => `    - ${oneLine(scope, limits.id)} (${files} ${files === 1 ? 'file' : 'files'})`)
  return [`  ${name}:`, ...shown, ...(more > 0 ? [`    - … ${more} more`] : [])]
}
