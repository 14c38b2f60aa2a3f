/** Files of a folder as a result shows them: so many, and how many more. */
export function treeOf(rels: readonly string[]) {
  const shown = rels.slice(0, MOST)
  return { tree: [...shown], tree_truncated: rels.length > MOST, omitted_files: rels.length - shown.length }
}

const MOST = 80
