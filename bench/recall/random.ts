/** Random numbers for the texts of the benchmark. The same seed gives the same numbers. */
export function createRandom(seed: number) {
  let state = seed
  const next = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state / 0x7fffffff
  }
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T
  return {
    next,
    pick,
    /** Some different items of a list, in a random order. */
    some<T>(list: readonly T[], count: number): readonly T[] {
      const keyed = list.map((item) => ({ item, order: next() })).sort((a, b) => a.order - b.order)
      return keyed.slice(0, count).map(({ item }) => item)
    },
  }
}

export type Random = ReturnType<typeof createRandom>
