import type { TorturePlace } from './place.ts'

/** What a scenario can find. Each kind is a column of the table. */
export const violationKinds = [
  'lost',
  'doubled',
  'disordered',
  'torn',
  'repeated',
  'paid twice',
  'stale',
  'stuck',
  'different',
  'error',
] as const

export type ViolationKind = (typeof violationKinds)[number]

/** What each kind means, for the help and the documentation. */
export const kindMeanings: Readonly<Record<ViolationKind, string>> = {
  lost: 'something that the store had acknowledged is missing',
  doubled: 'something is there twice: an entry, an event, a result, or an offer that was taken',
  disordered: 'entries or events have another order or number than they were stored with',
  torn: 'a part of an append is stored, and the rest is not',
  repeated: 'a tool ran twice, and the journal does not say so',
  'paid twice': 'the model was asked again for a response that was stored',
  stale: 'a process wrote to a conversation, or got its claim, although another process had the claim',
  stuck: 'a turn, a message or a lease did not end',
  different: 'two runs that must be equal differ, or a timeline differs from the one that results from its journal',
  error: 'a process ended by itself, or the store threw an error that no rule allows',
}

export interface Violation {
  readonly kind: ViolationKind
  readonly text: string
}

/** What one run of a scenario did and found. */
export interface Outcome {
  /** How many processes were killed or frozen, or how many races were run. */
  readonly faults: number
  /** How many things were checked. */
  readonly checks: number
  readonly violations: readonly Violation[]
}

/** The functions that a scenario can use. */
export interface Rig {
  /** Makes a place for a new, empty store. */
  newPlace(): Promise<TorturePlace>
  /** A random number from 0 to 1. */
  random(): number
  /** Runs work once for all scenarios of a round that need its result. */
  once<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** A row of the table. */
export interface Scenario {
  /** The name by which the option `--only` selects the scenario. */
  readonly name: string
  readonly title: string
  /** Whether the scenario is one of the obligations of a resumed agent. The obligations are printed in a separate table. */
  readonly isObligation?: true
  run(rig: Rig): Promise<Outcome>
}

export const violation = (kind: ViolationKind, text: string): Violation => ({ kind, text })

/** A random whole number from `low` to `high`. */
export const between = ({ random }: Pick<Rig, 'random'>, low: number, high: number): number => low + Math.floor(random() * (high - low + 1))
