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

/** A question, and the sessions and turns that contain its answer. A question with `multiHop` needs several places. */
export interface RecallQuestion {
  readonly text: string
  readonly sessions: readonly string[]
  /** Empty when the data set names only sessions. */
  readonly turns: readonly string[]
  readonly multiHop: boolean
}

/** Reads a file in the shape of LoCoMo or of LongMemEval-S. */
export function readRecallFile(path: string): readonly RecallSample[] {
  const parsed = JSON.parse(readFileSync(path, 'utf8')) as readonly Record<string, unknown>[]
  return parsed.map((sample) => ('haystack_sessions' in sample ? longMemEvalSample(sample) : locomoSample(sample)))
}

interface LocomoTurn {
  readonly dia_id: string
  readonly speaker: string
  readonly text?: string
  readonly blip_caption?: string
}

interface LocomoQuestion {
  readonly question: string
  readonly category: number
  readonly evidence?: readonly string[]
}

/** In LoCoMo, `D3:12` is turn 12 of session 3. Category 1 is multi-hop, and category 5 has no answer. */
function locomoSample(sample: Record<string, unknown>): RecallSample {
  const conversation = sample.conversation as Record<string, unknown>
  const names = Object.keys(conversation).filter((key) => /^session_\d+$/.test(key))
  const sessions = names.map((name): RecallSession => {
    const turns = conversation[name] as readonly LocomoTurn[]
    return {
      id: `D${name.slice('session_'.length)}`,
      date: dateOf(conversation[`${name}_date_time`]),
      turns: turns.map(({ dia_id: id, speaker, text = '', blip_caption: caption }) => ({
        id,
        speaker,
        text: `${speaker}: ${text}${caption === undefined ? '' : `\n[shares ${caption}]`}`,
      })),
    }
  })
  const known = new Set(sessions.flatMap(({ turns }) => turns.map(({ id }) => id)))
  const questions = (sample.qa as readonly LocomoQuestion[]).flatMap(({ question, category, evidence = [] }): readonly RecallQuestion[] => {
    const turns = [...new Set(evidence.flatMap((each) => each.split(/[;,\s]+/)).map(normalTurn))].filter((id) => known.has(id))
    if (turns.length === 0 || category === 5) return []
    return [{ text: question, turns, sessions: [...new Set(turns.map((id) => id.split(':')[0] ?? ''))], multiHop: category === 1 }]
  })
  return { sessions: sessions.filter(({ turns }) => turns.length > 0), questions }
}

/** Some evidence of the data set is written as `D:11:26` or `D30:05`. */
const normalTurn = (id: string): string => id.replace(/^D:?0*(\d+):0*(\d+)$/, 'D$1:$2')

interface LongMemEvalTurn {
  readonly role: string
  readonly content: string
  readonly has_answer?: boolean
}

/** Questions whose id ends in `_abs` have no answer in the sessions. A session may be in the list twice. */
function longMemEvalSample(sample: Record<string, unknown>): RecallSample {
  const ids = sample.haystack_session_ids as readonly string[]
  const dates = sample.haystack_dates as readonly string[]
  const answers = new Set(sample.answer_session_ids as readonly string[])
  const evidence: string[] = []
  const sessions = (sample.haystack_sessions as readonly (readonly LongMemEvalTurn[])[]).flatMap((turns, n): readonly RecallSession[] => {
    const session = `${ids[n]}`
    if (turns.length === 0 || ids.indexOf(session) !== n) return []
    const read = {
      id: session,
      date: dateOf(dates[n]),
      turns: turns.map(({ role, content, has_answer: hasAnswer }, index) => {
        const id = `${session}:${index}`
        if (hasAnswer === true) evidence.push(id)
        return { id, speaker: role, text: content }
      }),
    }
    return [read]
  })
  const multiHop = String(sample.question_type).includes('multi')
  const question = { text: String(sample.question), sessions: [...answers], turns: evidence, multiHop }
  return { sessions, questions: String(sample.question_id).endsWith('_abs') ? [] : [question] }
}

/** The date of a session as ISO 8601. Both data sets write dates in words, such as `1:56 pm on 8 May, 2023` or `2023/05/20 (Sat) 02:21`. */
function dateOf(value: unknown): string {
  const text = String(value)
    .replace(/^.* on /, '')
    .replace(/\([^)]*\)/, '')
  const time = Date.parse(text)
  return new Date(Number.isNaN(time) ? 0 : time).toISOString()
}
