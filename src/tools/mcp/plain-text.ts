import { ellipsize } from '../../core/cut.ts'

/**
 * A text of a server as one line without control characters. In this form, the text can not imitate another line of a prompt, such as the
 * entry of another tool.
 */
export const plainLine = (text: string, limit: number): string =>
  ellipsize(
    text
      .slice(0, limit * 4)
      .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
      .trim(),
    limit,
  )

/** Whether a text has control characters or other characters that can not be seen. */
export const hasHiddenCharacters = (text: string): boolean => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text)
