/** The tools that the system text offers, with the names of their parameters in order. */
export type ToolCatalog = ReadonlyMap<string, readonly string[]>

export function parseCatalog(system: string): ToolCatalog {
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
export const findTool = (catalog: ToolCatalog, name: string): string | undefined =>
  [...catalog.keys()].find((id) => id.endsWith(`.${name}`))
