import type { Section } from './sections.ts'

const introduction = `# Proof

Every table on this page is the output of a command, on the day and machine that stand above it. \`npm run proof\` makes the whole page again;
\`npm run proof -- NAME\` makes one section, and \`npm run proof -- --full\` runs the long form of those that have one. Compare ratios only within
one section, because the speed of a machine changes. Where a line is over its budget, or could not be run, the page says so.
`

/** The whole page: what was run, and then the sections. */
export function createPage(sections: readonly Section[], texts: readonly string[]): string {
  const rows = sections.map(({ name, title }) => {
    const text = texts.find((each) => each.startsWith(`<!-- ${name} -->`))
    return text === undefined ? `| ${title} | not run |` : `| [${title}](#${anchorOf(title)}) | ${resultIn(text)} |`
  })
  return `${introduction}\n| section | result |\n|---|---|\n${rows.join('\n')}\n\n${texts.join('\n')}`
}

/** A section as the page has it. Undefined if the page does not have it. */
export function keptSection(page: string, name: string): string | undefined {
  const [start, end] = [page.indexOf(`<!-- ${name} -->`), page.indexOf(`<!-- end of ${name} -->`)]
  return start < 0 || end < 0 ? undefined : `${page.slice(start, end)}<!-- end of ${name} -->\n`
}

/** The day, what is over its budget, and what is not complete, from the lines above the tables of a section. */
function resultIn(text: string): string {
  const day = /^Made on (\d{4}-\d\d-\d\d)/m.exec(text)?.[1] ?? 'an unknown day'
  const budget = /^Of \d+ lines with a budget, .*$/m.exec(text)?.[0]
  const problem = /^Not complete: .*$/m.exec(text)?.[0]
  return [`made on ${day}`, ...(budget === undefined ? [] : [budget.replace(/\.$/, '')]), ...(problem === undefined ? [] : [problem])]
    .join('. ')
    .replaceAll('|', '\\|')
}

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
