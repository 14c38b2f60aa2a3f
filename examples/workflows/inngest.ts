// Stands in for the package of Inngest, with the types of the functions that the example uses.

import { createSteps, type Steps } from './durable.ts'

interface Options {
  readonly id: string
  readonly retries?: number
  readonly triggers: { readonly event: string }
}

/** The argument of a function: the event, and the steps of the run. */
export interface Given<Data> {
  readonly event: { readonly name: string; readonly data: Data }
  readonly step: Steps
}

/** Like `inngest.createFunction`. A step that fails is repeated at most `retries` times. */
export const createFunction = <Data, Result>(options: Options, handler: (given: Given<Data>) => Promise<Result>) => ({ options, handler })

/** Runs a function for an event, as the server of Inngest does. */
export const receive = <Data, Result>(
  folder: string,
  { options, handler }: ReturnType<typeof createFunction<Data, Result>>,
  data: Data,
): Promise<Result> => handler({ event: { name: options.triggers.event, data }, step: createSteps(folder, 1 + (options.retries ?? 4)) })
