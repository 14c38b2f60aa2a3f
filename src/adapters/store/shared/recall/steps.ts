/*
 * Some tables answer at once (SQLite, and the tables in memory), others later (PostgreSQL). To have one version of the code that reads and
 * writes the tables of the memory index, this code is made of generators. Whenever it needs an answer of a table, it yields the answer, or
 * the promise of the answer, and gets the answer back:
 *
 *   const owner = yield* answered(tables.findOwner(folder))
 */

/** The answer of a table, or the promise of the answer. */
export type Answer<T> = T | Promise<T>

/** Code that waits for answers of tables. `runNow` or `runLater` runs it. */
export type Steps<T> = Generator<unknown, T, unknown>

/** Waits for an answer. */
export function* answered<T>(answer: Answer<T>): Steps<T> {
  return (yield answer) as T // `runNow` and `runLater` pass the answer that was yielded
}

/** Runs code on tables that answer at once. */
export function runNow<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (!step.done) {
    if (step.value instanceof Promise) throw new TypeError('these tables must answer at once')
    step = steps.next(step.value)
  }
  return step.value
}

/** Runs code on tables that answer later. */
export async function runLater<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next()
  while (!step.done) {
    let answer: unknown
    try {
      answer = await step.value
    } catch (error) {
      step = steps.throw(error)
      continue
    }
    step = steps.next(answer)
  }
  return step.value
}
