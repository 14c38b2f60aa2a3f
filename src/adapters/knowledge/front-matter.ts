import { z } from 'zod'
import { isWebAddress } from '../../core/sources/source.ts'

/** What the front matter of a Markdown document says about it. */
export interface FrontMatter {
  readonly title?: string
  readonly summary?: string
  /** The web address at which people find the document. */
  readonly url?: string
  readonly tags: readonly string[]
}

/** Parses YAML from a file that may be hostile. All scalars are texts. */
export type YamlParser = (text: string) => { readonly value: unknown } | { readonly problem: string }

const text = z.string().trim().max(2_000)
const texts = z
  .union([z.array(text).max(100), text.transform((value) => value.split(','))])
  .transform((list) => list.map((item) => item.trim().slice(0, 100)).filter((item) => item !== ''))

const fields = z.object({
  title: text.optional(),
  summary: text.optional(),
  description: text.optional(),
  url: text.optional(),
  tags: texts.default([]),
  keywords: texts.default([]),
})

/** Longer front matter is treated as text, because parsing hostile YAML takes quadratic time. */
const maxFrontMatter = 8_192

/**
 * Splits a Markdown document into its front matter and its text. If a document has no front matter or an invalid one, the whole document is
 * text. `remark` says what is wrong with an invalid front matter.
 */
export function splitFrontMatter(
  content: string,
  yaml: YamlParser,
): { readonly front: FrontMatter; readonly text: string; readonly remark?: string } {
  const end = content.startsWith('---\n') ? content.indexOf('\n---', 3) : -1
  const rest = end === -1 ? '' : content.slice(end + 4)
  const isFence = end !== -1 && (rest === '' || rest.startsWith('\n') || rest.startsWith(' ')) && end <= maxFrontMatter
  if (!isFence) return { front: { tags: [] }, text: content }
  const parsed = yaml(content.slice(4, Math.max(4, end)))
  if ('problem' in parsed) return { front: { tags: [] }, text: content, remark: `has front matter that ${parsed.problem}` }
  const checked = fields.safeParse(parsed.value ?? {})
  if (!checked.success) {
    const [issue] = checked.error.issues
    return { front: { tags: [] }, text: content, remark: `has invalid front matter: ${issue?.path.join('.')}: ${issue?.message}` }
  }
  const { title, summary, description, url, tags, keywords } = checked.data
  const about = summary || description
  const isAddress = isWebAddress(url)
  return {
    front: {
      ...(title && { title }),
      ...(about && { summary: about }),
      ...(isAddress && { url }),
      tags: [...new Set([...tags, ...keywords])],
    },
    text: rest.slice(rest.indexOf('\n') + 1),
  }
}
