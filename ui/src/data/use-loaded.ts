import { useEffect, useState } from 'react'

/** A value that the server sends. While a newer value is loading, the earlier value stays. */
export interface Loaded<T> {
  readonly value: T | undefined
  readonly loading: boolean
  readonly error: string | undefined
}

/** Loads a value, and loads it again when `key` changes. Without a key nothing is loaded. */
export function useLoaded<T>(key: string | undefined, load: () => Promise<T>): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({ value: undefined, loading: true, error: undefined })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when to load again
  useEffect(() => {
    if (key === undefined) return
    let current = true
    setState(({ value }) => ({ value, loading: true, error: undefined }))
    load().then(
      (value) => current && setState({ value, loading: false, error: undefined }),
      (error: unknown) =>
        current && setState({ value: undefined, loading: false, error: error instanceof Error ? error.message : String(error) }),
    )
    return () => {
      current = false
    }
  }, [key])
  return state
}
