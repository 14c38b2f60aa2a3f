/**
 * Files laid over each other, the last on top. Where one is a file and another a folder of the same name, the one on top stands: below it
 * nothing is left of the other.
 */
export function layerFiles<T>(layers: readonly ReadonlyMap<string, T>[]): Map<string, T> {
  const standing = new Map<string, T>()
  const folders = new Set<string>()
  for (const layer of layers.toReversed()) {
    const added: [string, T][] = []
    for (const [path, content] of layer) {
      if (!standing.has(path) && !folders.has(path) && !foldersAbove(path).some((folder) => standing.has(folder)))
        added.push([path, content])
    }
    for (const [path, content] of added) {
      standing.set(path, content)
      for (const folder of foldersAbove(path)) folders.add(folder)
    }
  }
  return new Map([...standing].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function foldersAbove(path: string): readonly string[] {
  const segments = path.split('/')
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join('/'))
}
