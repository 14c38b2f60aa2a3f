/** The tools that the system text offers, with the names of their parameters in order. */
export type Catalog = ReadonlyMap<string, readonly string[]>

export function catalogIn(system: string): Catalog {
  const usages = system.matchAll(/^📞 Usage: ([\w-]+(?:\.[\w-]+)+)\(([^)\n]*)\)$/gm)
  return new Map(
    [...usages].map(([, id, names]) => [
      id as string,
      (names as string)
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    ]),
  )
}

/** The first tool of this name, whatever namespace it lives in. */
export const toolNamed = (catalog: Catalog, name: string): string | undefined => [...catalog.keys()].find((id) => id.endsWith(`.${name}`))
