/** A page of the reference. The page begins with its title, and says with which command it is generated. */
export const page = (title: string, intro: string, ...sections: readonly string[]): string =>
  `${[`# ${title}`, `<!-- Written by \`npm run reference\`. Do not change this page by hand. -->`, intro, ...sections].join('\n\n')}\n`

/** A table whose rows are lists of cells. */
export const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n')

const cell = (text: string): string => text.replace(/\s*\n\s*/g, ' ').replace(/(?<!\\)\|/g, '\\|')

export const code = (text: string): string => `\`${text}\``

/** A text of several lines in a code block. */
export const codeBlock = (text: string, language = ''): string => `\`\`\`${language}\n${text}\n\`\`\``

/**
 * Gives each name its text. Throws if a name has no text, or if a text has a name that does not exist. So a name that is added to the
 * sources can not be missing in the reference.
 */
export function withTexts(what: string, names: Iterable<string>, texts: Readonly<Record<string, string>>): readonly (readonly string[])[] {
  const sorted = [...new Set(names)].sort()
  const missing = sorted.filter((name) => !Object.hasOwn(texts, name))
  const superfluous = Object.keys(texts).filter((name) => !sorted.includes(name))
  if (missing.length > 0) throw new Error(`the reference has no text for the ${what} ${missing.join(', ')}: add it in scripts/reference`)
  if (superfluous.length > 0) throw new Error(`the reference has a text for the ${what} ${superfluous.join(', ')}, which does not exist`)
  return sorted.map((name) => [code(name), texts[name] as string])
}
