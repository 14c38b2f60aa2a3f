import { z } from 'zod'
import type { Block } from './block.ts'
import { oncePerBlock, parseJsonAs } from './reader.ts'

/** The public metadata of an artifact. It is safe for models, logs and clients: it has no hosting handles and no absolute paths. */
export const Digest = z.looseObject({
  artifact_path: z.string(),
  physical_path: z.string().optional(),
  mime: z.string().optional(),
  kind: z.enum(['file', 'display']).optional(),
  visibility: z.enum(['external', 'internal']).optional(),
  channel: z.string().optional(),
  tool_call_id: z.string().optional(),
  edited: z.boolean().optional(),
  ts: z.string().optional(),
  size_bytes: z.number().optional(),
  text_symbols: z.number().optional(),
  line_count: z.number().optional(),
  tokens: z.number().optional(),
  description: z.string().optional(),
  sources_used: z.array(z.number()).optional(),
  write_warning: z.string().optional(),
  status: z.string().optional(),
  error: z.union([z.string(), z.looseObject({ code: z.string().optional(), message: z.string().optional() })]).nullish(),
})
export type Digest = z.infer<typeof Digest>

/** Hosting handles and local paths. They are never in a digest but stay in `meta` of the content block. */
const hostingFields = new Set(['hosted_uri', 'rn', 'key', 'local_path', 'managed'])

/** The digest as stored text, without empty values and hosting fields. */
export function digestText(digest: Digest): string {
  const entries = Object.entries(digest).filter(
    ([key, value]) => !hostingFields.has(key) && value !== undefined && value !== null && value !== '',
  )
  return JSON.stringify(Object.fromEntries(entries))
}

/** The digest of a metadata block; undefined for every other block. */
export function readDigest(block: Block): Digest | undefined {
  if (block.type !== 'react.tool.result' && block.type !== 'user.attachment.meta') return undefined
  if (block.mime !== undefined && block.mime !== 'application/json') return undefined
  return block.text?.includes('"artifact_path"') ? parseDigest(block) : undefined // most tool results are not parsed
}

const parseDigest = oncePerBlock((block: Block): Digest | undefined => parseJsonAs(Digest, block.text))
