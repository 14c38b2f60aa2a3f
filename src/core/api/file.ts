import { z } from 'zod'

/** A file that was handed over or attached. Its bytes are at `/v1/resources/<rn>`. */
export const FileSummary = z.object({
  rn: z.string(),
  filename: z.string(),
  mime: z.string(),
  size_bytes: z.int().nonnegative(),
  turn_id: z.string(),
  logical_path: z.string(),
  ts: z.string(),
  description: z.string().optional(),
  origin: z.enum(['user', 'artifact']),
})
export type FileSummary = z.infer<typeof FileSummary>

export const FileList = z.object({ files: z.array(FileSummary) })
export type FileList = z.infer<typeof FileList>
