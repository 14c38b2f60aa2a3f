// Stands in for the package of Restate, with the types of the functions that the example uses.

import { createSteps } from './durable.ts'

/** Like `restate.Context` of `@restatedev/restate-sdk`. */
export interface Context {
  run<T>(name: string, action: () => Promise<T>): Promise<T>
}

type Handlers = Readonly<Record<string, (ctx: Context, input: never) => Promise<unknown>>>

/** Like `restate.service`. */
export const service = <H extends Handlers>(definition: { readonly name: string; readonly handlers: H }) => definition

/** Calls a handler, as the server of Restate does. It repeats actions until they succeed. */
export const call = <Input, Result>(
  folder: string,
  handler: (ctx: Context, input: Input) => Promise<Result>,
  input: Input,
): Promise<Result> => handler(createSteps(folder, Number.POSITIVE_INFINITY), input)
