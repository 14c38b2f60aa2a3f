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
    const turns = evidence.flatMap((each) => each.split(/[;,\s]+/)).filter((id) => known.has(id))
    if (turns.length === 0 || category === 5) return []
    return [{ text: question, turns, sessions: [...new Set(turns.map((id) => id.split(':')[0] ?? ''))], multiHop: category === 1 }]
  })
  return { sessions: sessions.filter(({ turns }) => turns.length > 0), questions }
}

interface LongMemEvalTurn {
  readonly role: string
  readonly content: string
  readonly has_answer?: boolean
}

function longMemEvalSample(sample: Record<string, unknown>): RecallSample {
  const ids = sample.haystack_session_ids as readonly string[]
  const dates = sample.haystack_dates as readonly string[]
  const answers = new Set(sample.answer_session_ids as readonly string[])
  const evidence: string[] = []
  const sessions = (sample.haystack_sessions as readonly (readonly LongMemEvalTurn[])[]).map((turns, n): RecallSession => {
    const session = `${ids[n]}`
    return {
      id: session,
      date: dateOf(dates[n]),
      turns: turns.map(({ role, content, has_answer: hasAnswer }, index) => {
        const id = `${session}:${index}`
        if (hasAnswer === true) evidence.push(id)
        return { id, speaker: role, text: content }
      }),
    }
  })
  const multiHop = String(sample.question_type).includes('multi')
  return { sessions, questions: [{ text: String(sample.question), sessions: [...answers], turns: evidence, multiHop }] }
}

/** The date of a session as ISO 8601. Both data sets write dates in words, such as `1:56 pm on 8 May, 2023` or `2023/05/20 (Sat) 02:21`. */
function dateOf(value: unknown): string {
  const text = String(value)
    .replace(/^.* on /, '')
    .replace(/\([^)]*\)/, '')
  const time = Date.parse(text)
  return new Date(Number.isNaN(time) ? 0 : time).toISOString()
}

/**
 * Makes conversations of the same shape: two people talk about their lives in many sessions. Every fact is said once, in its own words, and
 * a question asks for it in other forms of these words. A multi-hop question needs two facts that share a name which the question does not
 * have.
 */
export function syntheticSamples(count: number, seed = 1): readonly RecallSample[] {
  let state = seed
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state / 0x7fffffff
  }
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  return Array.from({ length: count }, () => syntheticSample(pick, random))
}

const people = ['Caroline', 'Melanie', 'Joanna', 'Nate', 'Tim', 'John', 'Maria', 'Deborah', 'Jolene', 'Sam', 'Evan', 'Gina']
const syllables = ['bel', 'mor', 'tan', 'ri', 'lo', 'ven', 'ka', 'sto', 'du', 'ma', 'per', 'ni', 'gal', 'fe', 'sho', 'wick', 'ton', 'ley']
const places = ['museum', 'bakery', 'library', 'stadium', 'clinic', 'garden', 'studio', 'harbour', 'market', 'theatre', 'workshop', 'farm']
const verbs = [
  ['visit', 'visited'],
  ['paint', 'painted'],
  ['buy', 'bought'],
  ['repair', 'repaired'],
  ['lose', 'lost'],
  ['sell', 'sold'],
  ['build', 'built'],
  ['teach', 'taught'],
  ['write', 'wrote'],
  ['plant', 'planted'],
] as const
const things = [
  'violin',
  'bicycle',
  'telescope',
  'necklace',
  'novel',
  'kayak',
  'camera',
  'quilt',
  'drone',
  'guitar',
  'rosebush',
  'chessboard',
]
const moods = [
  'It felt wonderful.',
  'I was so tired after that.',
  'You would have loved it.',
  'The weather was awful though.',
  'I still smile about it.',
]
const chatter = [
  'How have you been lately?',
  'That sounds great, tell me more!',
  'Wow, I am really happy for you.',
  'Family keeps me busy these days, you know how it is.',
  'We should catch up more often, maybe over coffee.',
  'Work has been a lot, but I am hanging in there.',
  'Thanks, your support means so much to me.',
  'I have been thinking about taking a break and travelling somewhere.',
]

type Pick = <T>(list: readonly T[]) => T

function syntheticSample(pick: Pick, random: () => number): RecallSample {
  const name = () => {
    const word = Array.from({ length: 2 + Math.floor(random() * 2) }, () => pick(syllables)).join('')
    return word[0]?.toUpperCase() + word.slice(1)
  }
  const [first, second] = [pick(people.slice(0, 6)), pick(people.slice(6))]
  const sessions = Array.from(
    { length: 24 },
    (_, n): { id: string; date: string; turns: { id: string; speaker: string; text: string }[] } => ({
      id: `D${n + 1}`,
      date: new Date(Date.UTC(2023, 0, 3 + n * 9)).toISOString(),
      turns: [],
    }),
  )
  const say = (session: number, speaker: string, text: string): string => {
    const { id, turns } = sessions[session] as (typeof sessions)[number]
    const turn = `${id}:${turns.length + 1}`
    turns.push({ id: turn, speaker, text: `${speaker}: ${text}` })
    return turn
  }
  const questions: RecallQuestion[] = []
  const ask = (text: string, turns: readonly string[], multiHop: boolean) =>
    questions.push({ text, turns, sessions: [...new Set(turns.map((id) => id.split(':')[0] ?? ''))], multiHop })
  for (let n = 0; n < sessions.length; n++) {
    for (let each = 0; each < 5; each++) {
      const [speaker, other] = random() < 0.5 ? [first, second] : [second, first]
      say(n, other, pick(chatter))
      say(n, speaker, pick(chatter))
      const [verb, past] = pick(verbs)
      const [thing, place, owner] = [pick(things), pick(places), name()]
      const told = say(n, speaker, `Yesterday I ${past} a ${thing} near the ${place} of ${owner}. ${pick(moods)}`)
      say(n, other, pick(chatter))
      if (random() < 0.3) ask(`What did ${speaker} ${verb} near the ${place} of ${owner}?`, [told], false)
      // the second fact shares only the name of the place with the first, and its words with nothing in the question
      if (random() < 0.25) {
        const later = Math.floor(random() * sessions.length)
        const founded = say(later, other, `By the way, ${owner} was opened by my aunt ${name()} back then.`)
        ask(`Whose relative opened the place where ${speaker} ${past} the ${thing} near the ${place}?`, [told, founded], true)
      }
    }
  }
  return { sessions, questions }
}
