import { z } from 'zod'

/** What the deletion of a user or tenant has removed, and what remains. */
export const DeletionView = z.object({
  receipt_id: z.string().describe('The id of the receipt.'),
  started_at: z.string().describe('When the deletion began.'),
  finished_at: z.string().describe('When it ended.'),
  tables: z.record(z.string(), z.number()).describe('The removed rows by table of the store.'),
  files: z.object({ blobs: z.number(), hosted: z.number(), working: z.number() }).describe('How many files were removed, by kind.'),
  prefixes: z.array(z.string()).describe('The beginnings of the storage keys below which everything was removed.'),
  remains: z.array(z.object({ what: z.string(), why: z.string(), count: z.number().optional() })).describe('What remains, and why.'),
})
export type DeletionView = z.infer<typeof DeletionView>
