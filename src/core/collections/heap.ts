/** A priority queue. `first` is the value that comes before all others. Adding and removing a value take logarithmic time. */
export interface Heap<T> {
  readonly first: T | undefined
  push(value: T): void
  removeFirst(): void
}

export function createHeap<T>(isBefore: (a: T, b: T) => boolean): Heap<T> {
  const values: T[] = []
  const at = (position: number) => values[position] as T // the callers below stay within the array

  return {
    get first() {
      return values[0]
    },
    push(value) {
      let position = values.length
      while (position > 0) {
        const parent = (position - 1) >> 1
        if (!isBefore(value, at(parent))) break
        values[position] = at(parent)
        position = parent
      }
      values[position] = value
    },
    removeFirst() {
      const last = values.pop()
      if (last === undefined || values.length === 0) return
      let position = 0
      for (;;) {
        let child = 2 * position + 1
        if (child + 1 < values.length && isBefore(at(child + 1), at(child))) child++
        if (child >= values.length || !isBefore(at(child), last)) break
        values[position] = at(child)
        position = child
      }
      values[position] = last
    },
  }
}
