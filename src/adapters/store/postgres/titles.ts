import { foldTitle } from '../shared/conversation-info.ts'
import type { Queries } from './database.ts'

/**
 * The index of titles. It contains a number for every piece of one, two or three characters of a title. A title can contain a text only if
 * it has the numbers of all pieces of the text. Two pieces may have the same number, so the found titles have to be compared with the text.
 */
export function gramsOf(title: string): readonly number[] {
  const folded = foldTitle(title)
  const grams = new Set<number>()
  for (let start = 0; start < folded.length; start++)
    for (let length = 1; length <= 3 && start + length <= folded.length; length++) grams.add(gramOf(folded, start, length))
  return [...grams]
}

/**
 * Returns numbers that the index has for every title that contains this text. The text must not be empty. Only the numbers of pieces that
 * probably occur in few titles are returned. A few pieces are enough, because the found titles are compared with the text anyway, and each
 * further number takes time.
 */
export function gramsOfSearch(text: string): readonly number[] {
  const folded = foldTitle(text)
  const length = Math.min(3, folded.length)
  const starts = Array.from({ length: folded.length - length + 1 }, (_, index) => index)
  const rarest = starts.sort((a, b) => rarityOf(folded, b, length) - rarityOf(folded, a, length)).slice(0, SEARCHED_GRAMS)
  return [...new Set(rarest.map((start) => gramOf(folded, start, length)))]
}

const SEARCHED_GRAMS = 4

/** The characters that are most frequent in texts, the most frequent one first. All other characters are rarer. */
const FREQUENT = ' etaoinsrhldcumfpgwybvk'

/** How rare a piece of a text is: the sum over its characters. */
function rarityOf(text: string, start: number, length: number): number {
  let rarity = 0
  for (let at = start; at < start + length; at++) {
    const place = FREQUENT.indexOf(text[at] ?? '')
    rarity += place < 0 ? FREQUENT.length : place
  }
  return rarity
}

/** A hash of a piece of a text with 32 bits (FNV-1a). */
function gramOf(text: string, start: number, length: number): number {
  let hash = 0x811c9dc5 ^ length
  for (let at = start; at < start + length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash | 0
}

/** Fills the table for the titles that were written before it existed. */
export async function fillTitles({ all, run }: Queries): Promise<void> {
  for (let after = 0; ; ) {
    const rows = await all<{ key: number; title: string }>(
      'SELECT key, title FROM conversations WHERE title IS NOT NULL AND key > $1 ORDER BY key LIMIT 1000',
      [after],
    )
    const filled = rows.map(({ key, title }) => ({ key, grams: gramsOf(JSON.parse(title) as string) }))
    await run(
      `INSERT INTO titles SELECT key, ARRAY(SELECT json_array_elements_text(grams)::int)
       FROM json_to_recordset($1) AS (key bigint, grams json)`,
      [JSON.stringify(filled)],
    )
    const last = rows.at(-1)
    if (!last) return
    after = last.key
  }
}
