import type { Caps } from '../render/caps.ts'
import { joinLines, oneLine } from '../render/text.ts'
import type { Section } from './announce.ts'

export interface WorkspaceScope {
  readonly name: string
  readonly files: number
}

/** Where the turn works, as the workspace sees it. Folders are relative to OUT_DIR; no hashes, no refs. */
export interface AnnouncedWorkspace {
  readonly implementation: 'custom' | 'git'
  readonly currentTurnRoot: string
  /** Roots of turns that have files here, oldest first. */
  readonly turnRoots?: readonly string[]
  readonly editable?: readonly WorkspaceScope[]
  readonly checkedOutFrom?: string
  readonly checkoutMode?: 'replace' | 'overlay'
  readonly git?: {
    readonly status: 'clean' | 'dirty' | 'uninitialized' | 'unavailable'
    /** Top-level scopes of the lineage. */
    readonly lineage?: readonly WorkspaceScope[]
    readonly currentTurnPublish?: string
    readonly lastPublishedTurn?: string
    readonly publishError?: string
  }
}

export function workspaceSection(workspace: AnnouncedWorkspace, limits: Caps): Section {
  const { implementation, currentTurnRoot, turnRoots = [], editable, checkedOutFrom, checkoutMode, git } = workspace
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
    ...(git
      ? [
          '  repo_mode: sparse git repo',
          fact('repo_status', git.status),
          ...scopeLines('ls workspace', git.lineage, limits),
          fact('current_turn_publish', git.currentTurnPublish),
          fact('last_published_turn', git.lastPublishedTurn),
          fact('publish_error', git.publishError),
        ]
      : []),
  )
}

function scopeLines(name: string, listed: readonly WorkspaceScope[] | undefined, limits: Caps): readonly string[] {
  if (listed === undefined) return []
  if (listed.length === 0) return [`  ${name}: (empty)`]
  const more = listed.length - limits.workspaceScopes
  const shown = listed
    .slice(0, limits.workspaceScopes)
    .map(({ name: scope, files }) => `    - ${oneLine(scope, limits.id)} (${files} ${files === 1 ? 'file' : 'files'})`)
  return [`  ${name}:`, ...shown, ...(more > 0 ? [`    - … ${more} more`] : [])]
}
