/** What each file is called for short: its name without folders and extension, numbered from the second of the same name on. */
export function artifactIds(filenames: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  const last = new Map<string, number>()
  return filenames.map((filename) => {
    const stem = stemOf(filename)
    let number = (last.get(stem) ?? 0) + 1
    while (taken.has(numbered(stem, number))) number++ // a file may be called `a_2`
    last.set(stem, number)
    taken.add(numbered(stem, number))
    return numbered(stem, number)
  })
}

const stemOf = (filename: string) => (filename.split('/').at(-1) ?? filename).replace(/\.[^.]*$/, '') || 'file'
const numbered = (stem: string, number: number) => (number === 1 ? stem : `${stem}_${number}`)
