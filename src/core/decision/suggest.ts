import { editDistance } from './edit-distance.ts'

const maxLength = 80

/** Up to three known ids that the model may have meant: the same name elsewhere first, then those that are spelled alike. */
export function suggestIds(id: string, known: readonly string[]): readonly string[] {
  const said = id.slice(0, maxLength).toLowerCase()
  const limit = Math.max(2, Math.floor(said.length / 3))
  return known
    .flatMap((candidate) => {
      const name = candidate.toLowerCase()
      if (nameOf(name) === nameOf(said)) return [{ candidate, distance: 0 }]
      const distance = editDistance(said, name.slice(0, maxLength), limit)
      return distance === undefined ? [] : [{ candidate, distance }]
    })
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, 3)
    .map(({ candidate }) => candidate)
}

const nameOf = (id: string): string => id.slice(id.lastIndexOf('.') + 1)
