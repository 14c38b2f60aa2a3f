/** The values of the metrics of a server, by name. A name with labels has the form in which the server writes it. */
export async function readMetrics(url: string, signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`${url}/metrics`, { ...(signal && { signal }) })
  if (response.status !== 200) throw new Error(`${url}/metrics: ${response.status}`)
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ')
      return [line.slice(0, end), Number(line.slice(end + 1))]
    }),
  )
}
