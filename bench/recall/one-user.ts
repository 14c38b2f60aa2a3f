import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RecallQuestion, RecallSample, RecallSession } from './data.ts'
import { createRandom, type Random } from './random.ts'

/*
 * Conversations in the shape of LongMemEval-S: one person asks an assistant for advice, in about 50 sessions per question. The assistant
 * answers at length. The person mentions facts in passing, and later a question asks for these facts.
 */

const categories = {
  u: 'single-session-user',
  a: 'single-session-assistant',
  p: 'single-session-preference',
  t: 'temporal-reasoning',
  k: 'knowledge-update',
  m: 'multi-session',
} as const

/** The texts about one subject. Each line of the file is one text, and the first character of the line is the kind of the text. */
interface Subject {
  readonly name: string
  /** Messages that begin a conversation. */
  readonly openings: readonly string[]
  /** Sentences of the assistant. */
  readonly advice: readonly string[]
  readonly items: readonly Item[]
}

/**
 * A question, and the messages that contain its answer. In an item of the kind `a`, the second text is the assistant's answer to the first
 * text.
 */
interface Item {
  readonly kind: keyof typeof categories
  readonly question: string
  readonly texts: readonly string[]
}

function readSubjects(file: string): readonly Subject[] {
  const sections = readFileSync(join(import.meta.dirname, file), 'utf8')
    .split(/^# /m)
    .slice(1)
  return sections.map((section) => {
    const [name = '', ...lines] = section.split('\n')
    const after = (mark: string) => lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length).trim())
    const items = (Object.keys(categories) as Item['kind'][]).flatMap((kind) =>
      after(`${kind}:`).map((line): Item => {
        const [question = '', ...texts] = line.split(' | ')
        return { kind, question, texts }
      }),
    )
    return { name, openings: after('?'), advice: after('='), items }
  })
}

const SESSIONS = 48
const leads = [
  'Of course! Here are a few things that usually help:',
  "That's a great question. Let me walk you through it:",
  'Happy to help. Some suggestions:',
  'Congratulations, that sounds wonderful! Here is what I would keep in mind:',
]
const closings = [
  'Would you like me to go into more detail on any of these?',
  'Remember to take your time, and let me know how many of these tips you have tried.',
  'I hope this helps! Feel free to tell me more about your situation, so that I can give better recommendations.',
  'Do you have a budget or a date in mind?',
]
const replies = [
  'Thanks, that is useful. Can you go into more detail on the second point?',
  "That's helpful! What would you do first?",
  'I see. How much time should I plan for this?',
  'Good idea, I had not thought of that. What else should I consider?',
  'Could you summarise this in a short list that I can print?',
]

/** Which file has the questions, and what the sessions without the answer are about. */
interface OneUserOptions {
  readonly file: 'chats.txt' | 'chats-held-out.txt' | 'chats-by-the-way.txt' | 'chats-advice.txt' | 'chats-advice-held-out.txt'
  /**
   * What the sessions without the answer are about. `same`: they have the subject of the question, so that several sessions match the
   * question nearly as well as the sessions with the answer. `elsewhere`: they have other subjects, mostly subjects without any question.
   * In LongMemEval-S, these sessions come from the chats of other people.
   */
  readonly others: 'same' | 'elsewhere'
}

/** One sample per question of a file. */
export function oneUserSamples({ file, others }: OneUserOptions, seed = 1): readonly RecallSample[] {
  const random = createRandom(seed)
  const subjects = readSubjects(file)
  const elsewhere = others === 'same' ? [] : readSubjects('chats-elsewhere.txt')
  return subjects.flatMap((subject) =>
    subject.items.map((item, n) => sampleOf(random, { subjects, elsewhere }, subject, item, `${subject.name}-${n}`)),
  )
}

interface Subjects {
  readonly subjects: readonly Subject[]
  /** Subjects without questions. If the list is not empty, two thirds of the sessions without the answer are about these subjects. */
  readonly elsewhere: readonly Subject[]
}

interface Filler {
  readonly subject: Subject
  readonly texts: readonly string[]
  readonly isEvidence: boolean
}

function fillersOf(random: Random, { subjects, elsewhere }: Subjects, about: Subject, item: Item, count: number): readonly Filler[] {
  const isElsewhere = elsewhere.length > 0
  const foreign = Array.from({ length: isElsewhere ? Math.floor((count * 2) / 3) : 0 }, () => random.pick(elsewhere))
  const others = subjects
    .filter((each) => !isElsewhere || each !== about)
    .flatMap((each) => each.items.filter((other) => other !== item).map((other) => ({ subject: each, item: other })))
  const told = random.some(others, count - foreign.length).map((other) => {
    // about half of these sessions tell a fact, and the others only ask for advice
    const text = random.next() < 0.5 && other.item.kind !== 'a' ? random.pick(other.item.texts) : random.pick(other.subject.openings)
    return { subject: other.subject, texts: [text], isEvidence: false }
  })
  return [...told, ...foreign.map((subject) => ({ subject, texts: [random.pick(subject.openings)], isEvidence: false }))]
}

function sampleOf(random: Random, known: Subjects, subject: Subject, item: Item, name: string): RecallSample {
  const messages = item.kind === 'a' ? [item.texts] : item.texts.map((text) => [text])
  const fillers = fillersOf(random, known, subject, item, SESSIONS - messages.length)
  const all = random.some([...fillers, ...messages.map((texts) => ({ subject, texts, isEvidence: true }))], SESSIONS)
  // the sessions with the answer get the order that their texts have in the item
  const evidence = all.flatMap(({ isEvidence }, at) => (isEvidence ? [at] : []))
  const sessions = all.map(({ subject: about, texts, isEvidence }, at): RecallSession => {
    const said = isEvidence ? (messages[evidence.indexOf(at)] as readonly string[]) : texts
    return sessionOf(random, about, said, `${name}-s${at}`, new Date(Date.UTC(2023, 2, 1 + 2 * at)).toISOString())
  })
  const question: RecallQuestion = {
    text: item.question,
    category: categories[item.kind],
    sessions: evidence.map((at) => `${name}-s${at}`),
    turns: evidence.map((at) => `${name}-s${at}:${turnOf(sessions[at] as RecallSession, messages, item.kind)}`),
    date: new Date(Date.UTC(2023, 2, 3 + 2 * SESSIONS)).toISOString(),
  }
  return { sessions, questions: [question] }
}

/** The turn of a session that contains the message. */
function turnOf({ turns }: RecallSession, messages: readonly (readonly string[])[], kind: Item['kind']): number {
  const wanted = messages.map((texts) => texts[kind === 'a' ? 1 : 0] ?? '')
  return turns.findIndex(({ text }) => wanted.some((message) => text.includes(message)))
}

function sessionOf(random: Random, subject: Subject, texts: readonly string[], id: string, date: string): RecallSession {
  const [first = '', answer] = texts
  const turns: { id: string; speaker: string; text: string }[] = []
  const say = (speaker: string, text: string) => turns.push({ id: `${id}:${turns.length}`, speaker, text })
  const rounds = 3 + Math.floor(random.next() * 4)
  const place = random.next() < 0.5 ? 0 : Math.floor(random.next() * rounds)
  for (let round = 0; round < rounds; round++) {
    const isPlace = round === place
    say('user', isPlace ? first : round === 0 ? random.pick(subject.openings) : random.pick([...replies, ...subject.openings]))
    say('assistant', answerOf(random, subject, isPlace ? answer : undefined))
  }
  return { id, date, turns }
}

/** A long answer with a list. */
function answerOf(random: Random, { advice }: Subject, fact: string | undefined): string {
  const points = random.some(advice, 5 + Math.floor(random.next() * 4)).map((sentence, n) => `${n + 1}. ${sentence}`)
  return [random.pick(leads), ...(fact === undefined ? [] : [fact]), ...points, random.pick(closings)].join('\n')
}
