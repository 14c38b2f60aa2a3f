/**
 * Finishes several deletions, one after the other. A failure does not stop the other deletions. It is thrown at the end. `finish` returns
 * false when there was nothing to finish. Returns the ids of the deletions that were finished.
 */
export async function finishAll(ids: readonly string[], finish: (id: string) => Promise<boolean>): Promise<readonly string[]> {
  const finished: string[] = []
  const failures: unknown[] = []
  for (const id of ids) {
    try {
      if (await finish(id)) finished.push(id)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} conversations could not be deleted completely`)
  return finished
}
