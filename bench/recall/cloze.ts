import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RecallQuestion, RecallSample } from './data.ts'
import { createRandom } from './random.ts'

/*
 * Questions that are not made from templates. One sentence is taken out of a paragraph of a real document. This sentence is the question,
 * and the rest of the paragraph is the answer. A document is a session, and its paragraphs are the turns. So these questions show whether a
 * rule of the search helps only in conversations like those of the other sets.
 */

const [MIN_PARAGRAPH, MIN_SENTENCE] = [160, 40]
/** About this share of the paragraphs gets a question. */
const ASKED = 0.3

/** Makes one sample of all Markdown files of a folder. */
export function clozeSample(folder: string, seed = 5): RecallSample {
  const random = createRandom(seed)
  const questions: RecallQuestion[] = []
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .sort()
  const sessions = files.map((file, at) => {
    const paragraphs = readFileSync(join(folder, file), 'utf8').split(/\n\s*\n/)
    const turns = paragraphs.flatMap((paragraph, n) => {
      const text = paragraph.trim()
      if (text === '') return []
      const id = `${file}:${n}`
      const sentences = text.split(/(?<=[.!?])\s+/)
      const asked = text.length >= MIN_PARAGRAPH && random.next() < ASKED ? random.pick(sentences) : ''
      if (asked.length < MIN_SENTENCE || sentences.length < 3) return [{ id, speaker: n % 2 === 0 ? 'user' : 'assistant', text }]
      questions.push({ text: asked, category: 'cloze', sessions: [file], turns: [id] })
      return [{ id, speaker: n % 2 === 0 ? 'user' : 'assistant', text: sentences.filter((sentence) => sentence !== asked).join(' ') }]
    })
    return { id: file, date: new Date(Date.UTC(2023, 0, 1 + 3 * at)).toISOString(), turns }
  })
  return { sessions: sessions.filter(({ turns }) => turns.length > 0), questions }
}
