import { z } from 'zod'
import { parseJson } from '../../core/json.ts'

/** A parameter that is a text or a list of texts. Models also write the list as JSON in a text. Blank and repeated texts are left out. */
export const textList = (description: string) =>
  z
    .union([z.string(), z.array(z.string())])
    .describe(description)
    .transform((value) => {
      const parsed = typeof value === 'string' && value.trim().startsWith('[') ? parseJson(value) : value
      const texts: readonly unknown[] = Array.isArray(parsed) ? parsed : [value]
      return [...new Set(texts.flatMap((text) => (typeof text === 'string' && text.trim() !== '' ? [text.trim()] : [])))]
    })
