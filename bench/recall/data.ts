import { readFileSync } from 'node:fs'

/** Conversations of one person, and questions about them. */
export interface RecallSample {
  readonly sessions: readonly RecallSession[]
  readonly questions: readonly RecallQuestion[]
}

export interface RecallSession {
  readonly id: string
  readonly date: string
  readonly turns: readonly { readonly id: string; readonly speaker: string; readonly text: string }[]
}

/** A question, and the sessions and turns that contain its answer. */
export interface RecallQuestion {
  readonly text: string
  /** The kind of question, in the words of the data set. */
  readonly category: string
  readonly sessions: readonly string[]
  /** The turns that contain the answer. Empty when the data set names only sessions. */
  readonly turns: readonly string[]
  /**
   * When the question is asked. Undefined if the data set has no date for the question. The question is then asked after the last session.
   */
  readonly date?: string
}

/** Reads a file in the format of LoCoMo or of LongMemEval-S. */
export function readRecallFile(path: string): readonly RecallSample[] {
  const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'))
  return listOf(parsed).map((sample, n) => {
    if ('haystack_sessions' in sample) return longMemEvalSample(sample)
    if ('conversation' in sample) return locomoSample(sample)
    throw new TypeError(`${path}: sample ${n} has neither haystack_sessions (LongMemEval) nor conversation (LoCoMo)`)
  })
}

type Fields = Readonly<Record<string, unknown>>

/** The objects in a list. Anything else is left out, because the data sets have a few damaged places. */
const listOf = (value: unknown): readonly Fields[] =>
  (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'object' && each !== null && !Array.isArray(each))

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string')

/** In LoCoMo, category 5 has questions without an answer. */
const locomoCategories = ['', 'multi-hop', 'temporal', 'open-domain', 'single-hop']

/** In LoCoMo, `D3:12` is turn 12 of session 3. */
function locomoSample(sample: Fields): RecallSample {
  const conversation = (sample.conversation ?? {}) as Fields
  const names = Object.keys(conversation).filter((key) => /^session_\d+$/.test(key))
  const sessions = names.map((name): RecallSession => {
    const session = `D${Number(name.slice('session_'.length))}`
    return {
      id: session,
      date: dateOf(conversation[`${name}_date_time`]),
      turns: listOf(conversation[name] ?? []).map((turn, n) => {
        const caption = textOf(turn.blip_caption)
        const speaker = textOf(turn.speaker)
        return {
          id: normalTurn(textOf(turn.dia_id) || `${session}:${n + 1}`),
          speaker,
          text: `${speaker}: ${textOf(turn.text)}${caption === '' ? '' : `\n[shares ${caption}]`}`,
        }
      }),
    }
  })
  const known = new Set(sessions.flatMap(({ turns }) => turns.map(({ id }) => id)))
  const questions = listOf(sample.qa ?? []).flatMap((qa): readonly RecallQuestion[] => {
    const category = locomoCategories[Number(qa.category)]
    const turns = [...new Set(textsOf(qa.evidence).flatMap(turnsIn))].filter((id) => known.has(id))
    if (turns.length === 0 || !category) return []
    return [{ text: textOf(qa.question), category, turns, sessions: [...new Set(turns.map((id) => id.split(':')[0] ?? ''))] }]
  })
  return { sessions: sessions.filter(({ turns }) => turns.length > 0), questions }
}

/** The turns that a text names. One text may name several, as in `D8:6; D9:17` or `D1:18 D1:20`. */
const turnsIn = (text: string): readonly string[] => (text.match(/D:?\d+:\d+/g) ?? []).map(normalTurn)

/** The data set writes some turns as `D:11:26` or `D30:05`, instead of `D11:26` or `D30:5`. */
const normalTurn = (id: string): string => id.replace(/^D:?0*(\d+):0*(\d+)$/, 'D$1:$2')

/** Questions whose id ends in `_abs` have no answer in the sessions. A session may be in the list twice. */
function longMemEvalSample(sample: Fields): RecallSample {
  const ids = textsOf(sample.haystack_session_ids)
  const dates = textsOf(sample.haystack_dates)
  const evidence: string[] = []
  const haystack = Array.isArray(sample.haystack_sessions) ? sample.haystack_sessions : []
  const sessions = haystack.flatMap((session: unknown, n): readonly RecallSession[] => {
    const id = ids[n] ?? `session-${n}`
    const turns = listOf(session).map(({ role, content, has_answer: hasAnswer }, index) => {
      if (hasAnswer === true && (ids[n] === undefined || ids.indexOf(id) === n)) evidence.push(`${id}:${index}`)
      return { id: `${id}:${index}`, speaker: textOf(role), text: textOf(content) }
    })
    return turns.length === 0 || (ids[n] !== undefined && ids.indexOf(id) !== n) ? [] : [{ id, date: dateOf(dates[n]), turns }]
  })
  const known = new Set(sessions.map(({ id }) => id))
  const question: RecallQuestion = {
    text: textOf(sample.question),
    category: textOf(sample.question_type) || 'unknown',
    sessions: [...new Set(textsOf(sample.answer_session_ids))].filter((id) => known.has(id)),
    turns: evidence,
    ...(textOf(sample.question_date) !== '' && { date: dateOf(sample.question_date) }),
  }
  const isAsked = !textOf(sample.question_id).endsWith('_abs') && question.sessions.length > 0
  return { sessions, questions: isAsked ? [question] : [] }
}

/** A date as ISO 8601. The data sets write dates such as `1:56 pm on 8 May, 2023` or `2023/05/20 (Sat) 02:21`. */
function dateOf(value: unknown): string {
  const text = textOf(value)
  const spoken = /^(\d{1,2}:\d{2} [ap]m) on (.*)$/i.exec(text.trim())
  const time = Date.parse(`${spoken ? `${spoken[2]} ${spoken[1]}` : text.replace(/\([^)]*\)/, ' ')} UTC`)
  return new Date(Number.isNaN(time) ? 0 : time).toISOString()
}
