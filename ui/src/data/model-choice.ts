const key = 'daybook.model'

/** The model that a person chose for new turns. Undefined means the default model of the server. */
export const readModel = (): string | undefined => localStorage.getItem(key) ?? undefined

export function chooseModel(model: string | undefined): void {
  if (model === undefined) localStorage.removeItem(key)
  else localStorage.setItem(key, model)
}
