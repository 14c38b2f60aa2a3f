import type { DeletionView } from '../../core/api/administration.ts'
import type { UserOrTenant } from '../../core/scope.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Hosting } from '../../ports/hosting.ts'
import type { ConversationStore, Owner } from '../../ports/store.ts'
import type { Workspaces } from '../../ports/workspace.ts'
import type { Deletion } from '../deletion.ts'
import { checkText } from '../message.ts'
import type { OwnerDeletion } from './delete-owner.ts'
import type { HeldLease, TenantSummary } from './overview.ts'

/** Operations of operators on the data of all users. These functions do not check whether the caller is an operator. */
export interface Administration {
  /**
   * Deletes everything that is stored of a user, or of all users of a tenant, and returns a receipt: what was removed, and what remains and
   * why. Turns that run are stopped first, also in other processes. If the process dies, the next call continues the deletion, and its
   * receipt is complete. If nothing is left to delete, the function returns the receipt of the last deletion. New conversations can be
   * created after the deletion, so end the access of the user first.
   */
  deleteOwner(owner: UserOrTenant): Promise<OwnerDeletion>
  /**
   * The tenants with their numbers of users, conversations, open turns, waits and parked conversations. The function reads the list of all
   * conversations.
   */
  tenants(): Promise<readonly TenantSummary[]>
  /**
   * The leases of conversations with an open turn. The turn that has had no new entry for the longest time comes first. A lease is left out
   * if its process is proven dead or has not renewed it in time.
   */
  leases(): Promise<readonly HeldLease[]>
  /**
   * Ends the lease of a conversation, so that another process continues its turn. Returns false when no process has the lease. If the
   * process with the lease may still be alive, the function throws `conversation.busy`, unless `force` is set. With `force`, the next step
   * of that process fails.
   */
  releaseLease(key: string, options?: { readonly force?: boolean }): Promise<boolean>
}

interface AdministrationParts {
  readonly store: ConversationStore
  readonly clock: Clock
  readonly owner: Owner
  readonly hosting: Hosting | undefined
  readonly workspaces: Workspaces | undefined
  readonly deletion: Deletion
}

export function createAdministration(parts: AdministrationParts): Administration {
  const { store, clock, owner: self } = parts
  return {
    tenants: async () => (await import('./overview.ts')).summariseTenants(store),
    leases: async () => (await import('./overview.ts')).listHeldLeases(store, self, clock),
    async releaseLease(key, { force = false } = {}) {
      return (await import('./overview.ts')).releaseLease(store, self, key, force)
    },
    async deleteOwner(owner) {
      checkText('tenant', owner.tenant)
      if (owner.user !== undefined) {
        checkText('project', owner.project)
        checkText('user', owner.user)
      }
      const { deleteOwner } = await import('./delete-owner.ts') // on demand, because turns do not need this module
      return deleteOwner(owner, parts)
    },
  }
}

/** A receipt as the server sends it. */
export const deletionView = ({ receipt, prefixes }: OwnerDeletion): DeletionView => ({
  receipt_id: receipt.receiptId,
  started_at: receipt.startedAt,
  finished_at: receipt.finishedAt,
  tables: { ...receipt.tables },
  files: receipt.files,
  prefixes: [...prefixes],
  remains: receipt.remains.map((each) => ({ ...each })),
})
