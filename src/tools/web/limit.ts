/** Runs a function for each item, for at most `limit` items at a time. The results are in the order of the items. */
export async function mapLimited<T, R>(
  items: readonly T[],
  limit: number,
  run: (item: T, index: number) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = []
  let next = 0
  async function work(): Promise<void> {
    for (let index = next++; index < items.length; index = next++) results[index] = await run(items[index] as T, index)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work))
  return results
}
