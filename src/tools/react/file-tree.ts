/** Files of a folder as a result shows them: so many, and how many more. */
export function fileTree(rels: readonly string[]) {
  const shown = rels.slice(0, MAX_TREE_FILES)
  return { tree: [...shown], tree_truncated: rels.length > MAX_TREE_FILES, omitted_files: rels.length - shown.length }
}

const MAX_TREE_FILES = 80
