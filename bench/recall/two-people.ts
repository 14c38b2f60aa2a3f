import type { RecallQuestion, RecallSample } from './data.ts'
import { createRandom, type Random } from './random.ts'
import { chatter, type Topic, topics } from './topics.ts'

const SESSIONS = 25

/** The people, topics and small talk from which conversations are made. */
export interface World {
  readonly people: readonly string[]
  readonly topics: readonly Topic[]
  readonly chatter: readonly string[]
}

const firstWorld: World = {
  people: ['Caroline', 'Melanie', 'Joanna', 'Nate', 'Tim', 'John', 'Maria', 'Deborah', 'Jolene', 'Sam', 'Evan', 'Gina'],
  topics,
  chatter,
}

interface Session {
  readonly id: string
  readonly date: string
  readonly turns: { readonly id: string; readonly speaker: string; readonly text: string }[]
}

/**
 * Makes conversations in the shape of LoCoMo: two people talk about their lives in many sessions. Every fact is told once. Between the
 * facts is small talk that uses the same words. Most questions ask for one fact, in the words of a person who remembers the fact only
 * roughly. A multi-hop question asks for everything that a person has told about a topic, in several sessions.
 */
export function twoPeopleSamples(count: number, world: World = firstWorld, seed = 1): readonly RecallSample[] {
  const random = createRandom(seed)
  return Array.from({ length: count }, () => sampleOf(random, world))
}

function sampleOf({ next: random, pick }: Random, { people, topics, chatter }: World): RecallSample {
  const [first, second] = [pick(people.slice(0, people.length / 2)), pick(people.slice(people.length / 2))]
  const sessions = Array.from({ length: SESSIONS }, (_, n): Session => ({ id: `D${n + 1}`, date: dateOf(n), turns: [] }))
  const questions: RecallQuestion[] = []
  const fill = (text: string, speaker: string) => text.replaceAll('{A}', speaker).replaceAll('{B}', speaker === first ? second : first)
  const otherThan = (speaker: string) => (speaker === first ? second : first)

  const say = ({ id, turns }: Session, speaker: string, text: string): string => {
    const turn = `${id}:${turns.length + 1}`
    turns.push({ id: turn, speaker, text: `${speaker}: ${fill(text, speaker)}` })
    return turn
  }
  const ask = (text: string, turns: readonly string[], category: string) =>
    questions.push({ text, category, turns, sessions: [...new Set(turns.map((id) => id.split(':')[0] ?? ''))] })

  const told = new Map<string, string[]>()
  const tell = (session: Session, speaker: string, topic: Topic, fact: string) => {
    const [said = '', question = ''] = fact.split(' | ')
    const [lead, text = ''] = said.includes(' > ') ? said.split(' > ') : ['', said]
    if (lead) say(session, otherThan(speaker), lead)
    const turn = say(session, speaker, text)
    const [echo, again] = [pick(keyWordsOf(text)), pick(keyWordsOf(text))]
    say(
      session,
      otherThan(speaker),
      random() < 0.6 ? `${pick(topic.replies)} So ${pick(['you enjoyed', 'it was about', 'you mean'])} the ${echo}?` : pick(topic.replies),
    )
    if (random() < 0.6)
      say(
        session,
        speaker,
        `${pick(['Yes', 'Exactly', 'Right'])}, the ${again}. ${random() < 0.6 ? `I could talk about my ${topic.name}${random() < 0.5 ? 's' : ''} for hours.` : pick(chatter)}`,
      )
    if (random() < 0.5) say(session, otherThan(speaker), `I like to hear about your ${topic.name}${random() < 0.5 ? 's' : ''}, {B}.`)
    if (random() < 0.6) say(session, speaker, pick(chatter))
    if (random() < 0.4) say(session, otherThan(speaker), pick(chatter))
    const hint = random() < 0.6 ? ` {A} talked about ${pick(keyWordsOf(text))} then.` : ''
    if (random() < 0.65) ask(fill(question + hint, speaker), [turn], 'single-hop')
    const key = `${topics.indexOf(topic)} ${speaker}`
    told.set(key, [...(told.get(key) ?? []), turn])
  }

  // the facts of a topic are told in pairs, because people stay with a topic for a while
  const pairs = topics.flatMap((topic) => [0, 2, 4].map((from) => ({ topic, facts: topic.facts.slice(from, from + 2), order: random() })))
  pairs.sort((a, b) => a.order - b.order)
  for (const [n, session] of sessions.entries()) {
    for (const speaker of [first, second, first]) say(session, speaker, pick(chatter))
    for (const { topic, facts } of pairs.filter((_, index) => index % SESSIONS === n)) {
      const speaker = random() < 0.5 ? first : second
      for (const fact of facts) tell(session, speaker, topic, fact)
    }
    for (const speaker of [first, second]) say(session, speaker, pick(chatter))
  }
  for (const [key, turns] of told) {
    const [topic, speaker = ''] = key.split(' ')
    const spread = new Set(turns.map((turn) => turn.split(':')[0])).size
    if (spread > 1 && spread < 4) ask(fill(pick((topics[Number(topic)] as Topic).all), speaker), turns, 'multi-hop')
  }
  return { sessions, questions }
}

/** The longest words of a text. */
const keyWordsOf = (text: string): readonly string[] =>
  text
    .split(/[^A-Za-z-]+/)
    .sort((a, b) => b.length - a.length)
    .slice(0, 4)
    .map((word) => word.toLowerCase())

const dateOf = (n: number): string => new Date(Date.UTC(2023, 0, 3 + n * 9)).toISOString()
