// Stands in for the packages of Temporal, with the types of the functions that the example uses.

import { createSteps, type Steps } from './durable.ts'

type Activities = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>

interface ActivityOptions {
  readonly startToCloseTimeout: string
  readonly retry?: { readonly maximumAttempts?: number }
}

let running: { readonly activities: Activities; readonly steps: (attempts: number) => Steps } | undefined

/** Like `proxyActivities` of `@temporalio/workflow`: the calls of a workflow are run as activities, and their results are kept. */
export function proxyActivities<T extends Activities>({ retry }: ActivityOptions): T {
  let calls = 0
  const call = (name: string) =>
    function run(...args: never[]): Promise<unknown> {
      if (!running) throw new Error('activities can be called in a workflow only')
      const activity = running.activities[name] as (...given: never[]) => Promise<unknown>
      return running.steps(retry?.maximumAttempts ?? Number.POSITIVE_INFINITY).run(`${name}-${++calls}`, () => activity(...args))
    }
  return new Proxy({} as T, { get: (_, name) => call(String(name)) })
}

/** Runs a workflow with its activities, as a worker of `@temporalio/worker` does for a client. */
export async function execute<Args extends unknown[], Result>(
  folder: string,
  activities: Activities,
  workflow: (...args: Args) => Promise<Result>,
  ...args: Args
): Promise<Result> {
  running = { activities, steps: (attempts) => createSteps(folder, attempts) }
  return workflow(...args)
}
