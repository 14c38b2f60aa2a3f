import { type Period, periodOf } from '../../../../core/recall/period.ts'
import { speakerOf } from '../../../../core/recall/question-speaker.ts'
import { relatedTerms } from '../../../../core/recall/related.ts'
import { isName, speakerTerm } from '../../../../core/recall/speakers.ts'
import { termsOf, wordsOf } from '../../../../core/recall/terms.ts'
import { asksForAdvice, topicTerms } from '../../../../core/recall/topics.ts'
import type { WeightedTerm } from './score.ts'

/** What a question looks for. */
export interface Question {
  /** The terms of the question itself. If there are none, nothing is found. */
  readonly asked: readonly WeightedTerm[]
  /**
   * Terms that are added to the question: the people that it names as speakers, and words that mean nearly the same as its words. If the
   * question asks for advice, words of the same topics are added too.
   */
  readonly added: readonly WeightedTerm[]
  /** The time that the question names. */
  readonly period: Period | undefined
  /** Whose words the question asks for. */
  readonly speaker: 'user' | 'assistant' | undefined
}

/**
 * How many terms a search uses at most: different terms of the question itself, speakers and related words that are added, and words of the
 * same topics that are added.
 */
const [MAX_TERMS, MAX_ADDED, MAX_OF_TOPICS] = [32, 24, 40]
/** The weights of the added terms: of a speaker, of a word with nearly the same meaning, and of a word of the same topic. */
const [SPEAKER_WEIGHT, RELATED_WEIGHT, TOPIC_WEIGHT] = [1.5, 0.35, 0.4]

/** An added word that occurs in more snippets than this is left out, because it says little and takes time. */
const RELATED_AT_MOST = 4_000

/** The weight of a word in `asking`, such as "remind". It says little about the subject. Other words of the question have the weight 1. */
const ASKING_WEIGHT = 0.4

/** Words with which people ask for something that was said, for a number, a time or a suggestion. */
const asking: ReadonlySet<string> = new Set(
  termsOf(`many much often long ago last time total number current currently previous previously earlier past recent recently remind remember
    recall wonder discuss discussion conversation chat talk mention say said told recommend recommendation suggest suggestion advice tip idea
    think thought know want need look going check find help provide give name called type kind sort thing something day week month year
    might like new`),
)

/** Analyses a question. `now` is the time of the search, in seconds since 1970. */
export function analyseQuestion(question: string, now: number): Question {
  const words = wordsOf(question)
  const asked = [...new Set(words.flatMap(({ terms }) => terms))].slice(0, MAX_TERMS)
  const isOnlyAsking = asked.every((term) => asking.has(term))
  const isSubject = (term: string) => isOnlyAsking || !asking.has(term)
  const speakers = new Set(words.filter(({ text }) => isName(text)).map(({ text }) => speakerTerm(text)))
  const subjects = asked.filter(isSubject)
  const lower = words.map(({ text }) => text.toLowerCase())
  const isAdvice = asksForAdvice(lower)
  const related = new Set(subjects.flatMap(relatedTerms).filter((term) => !asked.includes(term)))
  const ofTopics = new Set(isAdvice ? subjects.flatMap(topicTerms).filter((term) => !asked.includes(term) && !related.has(term)) : [])
  const added = [
    ...[...speakers].map((term) => ({ term, weight: SPEAKER_WEIGHT })),
    ...[...related].map((term) => ({ term, weight: RELATED_WEIGHT, atMost: RELATED_AT_MOST })),
  ]
  return {
    asked: asked.map((term) => ({ term, weight: isSubject(term) ? 1 : ASKING_WEIGHT })),
    added: [
      ...added.slice(0, MAX_ADDED),
      ...[...ofTopics].slice(0, MAX_OF_TOPICS).map((term) => ({ term, weight: TOPIC_WEIGHT, atMost: RELATED_AT_MOST })),
    ],
    period: periodOf(lower, now),
    // if a user asks for advice, it should fit what the user has said before
    speaker: speakerOf(lower) ?? (isAdvice ? 'user' : undefined),
  }
}
