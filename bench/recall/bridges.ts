import type { RecallSample } from './data.ts'
import { createRandom, type Random } from './random.ts'

/*
 * Questions whose answer needs two messages. The question describes a thing. The first message tells the name of this thing, and the second
 * message says something about the name. The second message often has no word of the question.
 */

const names =
  'Varnstedt Oakhollow Mirabel Tresco Kestrel Lindqvist Baskerton Orfeo Calder Pemberly Zephyr Halloran Quillfeather Ravensby Ostrava Ellsworth Tamsin Corvo Briarwood Sandoval Nimbus Fennimore Aldous Petrichor'.split(
    ' ',
  )

/** The first message, the second message, and the question. `{N}` is the name that both messages mention. */
const bridges: readonly (readonly [string, string, string])[] = [
  [
    'Our new landlord is called {N}, he seems nice.',
    'I read that {N} was a pilot before he retired.',
    'What was the former profession of our landlord?',
  ],
  [
    'We spent the weekend in a village called {N}.',
    'Did you know that {N} was founded by monks?',
    'Who founded the village where we spent the weekend?',
  ],
  ['My sister adopted a greyhound and named it {N}.', '{N} chewed up the sofa yesterday.', "What did my sister's dog destroy?"],
  [
    'The restaurant we liked so much was {N}.',
    'They say {N} closes in autumn because the cook is leaving.',
    'Why is the restaurant that we liked closing?',
  ],
  [
    'For the migration we chose the library {N}.',
    '{N} 4.2 has a memory leak when connections are reused.',
    'What is wrong with the library that we use for the migration?',
  ],
  [
    'The deploy script lives in tools/{N}.sh now.',
    'tools/{N}.sh failed last night because of an expired certificate.',
    'Why did the deploy script fail?',
  ],
  [
    'My physiotherapist recommended a book by {N}.',
    '{N} will give a talk at the town hall on the third.',
    'When does the author speak that my physiotherapist recommended?',
  ],
  ['The moving company was {N}, very careful people.', 'Heard in the news that {N} went bankrupt.', 'What became of the movers?'],
  ["My daughter's chemistry teacher is Mrs {N}.", 'Mrs {N} moves to Canada after the summer.', "Where is my daughter's teacher going?"],
  [
    'The horse that I ride on Saturdays is {N}.',
    '{N} has to rest because of an inflamed tendon.',
    'What is the matter with the horse I ride?',
  ],
  ['The project got the code name {N}.', 'The budget of {N} was cut to forty thousand.', 'How much money does the project have left?'],
  ['I rented a cabin at lake {N}.', 'The ice on lake {N} broke early this year.', 'What happened to the ice on the lake with my cabin?'],
]

const fillers = [
  'Could you look over this paragraph and make it shorter?',
  'I had soup for lunch and it rained the whole afternoon.',
  'What is a good name for a column with the date of the last change?',
  'The meeting was moved to Friday, which suits me better.',
  'Thanks, that answers my question for today.',
  'I should call the insurance before the end of the month.',
  'How do I convert a list of numbers into a chart?',
  'My train was late again, and the heating did not work.',
  'Please remind me to water the plants.',
  'The weekend was quiet, we watched a film and went to bed early.',
  'Is there a shorter way to write this loop?',
  'I read half of the book, it is slow but beautiful.',
]

/** Conversations with facts that are connected by a name. */
export function bridgeSamples(count: number, seed = 3): readonly RecallSample[] {
  const random = createRandom(seed)
  return Array.from({ length: count }, () => sampleOf(random))
}

function sampleOf(random: Random): RecallSample {
  const chosen = random.some(names, bridges.length)
  const facts = bridges.map(([first, second, question], n) => {
    const fill = (text: string) => text.replaceAll('{N}', chosen[n] as string)
    return { question, places: [fill(first), fill(second)] }
  })
  const told = random.some(
    facts.flatMap(({ places }, n) => places.map((text, place) => ({ text, n, place }))),
    2 * facts.length,
  )
  const sessions = told.map(({ text }, at) => {
    const before = random.some(fillers, 3)
    const texts = [...before, text, ...random.some(fillers, 3)]
    return {
      id: `D${at + 1}`,
      date: new Date(Date.UTC(2023, 0, 1 + 5 * at)).toISOString(),
      turns: texts.map((each, n) => ({ id: `D${at + 1}:${n + 1}`, speaker: n % 2 === 1 ? 'user' : 'assistant', text: each })),
    }
  })
  const questions = facts.map(({ question }, n) => {
    const places = told.flatMap((each, at) => (each.n === n ? [`D${at + 1}`] : []))
    return { text: question, category: 'multi-hop', sessions: places, turns: places.map((id) => `${id}:4`) }
  })
  return { sessions, questions }
}
