import { z } from 'zod'

/** What the deletion of a user or tenant has removed, and what remains. */
export const DeletionView = z.object({
  receipt_id: z.string(),
  started_at: z.string(),
  finished_at: z.string(),
  /** The removed rows by table of the store. */
  tables: z.record(z.string(), z.number()),
  files: z.object({ blobs: z.number(), hosted: z.number(), working: z.number() }),
  /** The beginnings of the storage keys below which everything was removed. */
  prefixes: z.array(z.string()),
  remains: z.array(z.object({ what: z.string(), why: z.string(), count: z.number().optional() })),
})
export type DeletionView = z.infer<typeof DeletionView>
