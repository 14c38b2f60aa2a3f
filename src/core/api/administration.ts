import { z } from 'zod'

/** The report on the deletion of a user or tenant: what was removed, and what was not removed. */
export const DeletionView = z.object({
  receipt_id: z.string().describe('The id of the receipt.'),
  started_at: z.string().describe('When the deletion began.'),
  finished_at: z.string().describe('When the deletion ended.'),
  tables: z.record(z.string(), z.number()).describe('How many rows were removed from each table of the store.'),
  files: z.object({ blobs: z.number(), hosted: z.number(), working: z.number() }).describe('How many files were removed, by kind.'),
  prefixes: z.array(z.string()).describe('Prefixes of storage keys. Every object whose key begins with one of these prefixes was removed.'),
  remains: z
    .array(z.object({ what: z.string(), why: z.string(), count: z.number().optional() }))
    .describe('The data that was not removed, and why.'),
})
export type DeletionView = z.infer<typeof DeletionView>
