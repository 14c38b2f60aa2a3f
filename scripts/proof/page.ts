import type { Section } from './sections.ts'

const introduction = `# Proof

Every table on this page is the output of a command. The day and the machine are above the table. \`npm run proof\` makes the whole page
again, and \`npm run proof -- NAME\` makes one section. Some sections have a long form, which \`npm run proof -- --full\` runs. Compare ratios
only within one section, because the speed of a machine changes. If a line is over its budget or could not be run, the page says so.
`

/** The whole page: what was run, and then the sections. */
export function createPage(sections: readonly Section[], texts: readonly string[]): string {
  const rows = sections.map(({ name, title }) => {
    const text = texts.find((each) => each.startsWith(`<!-- ${name} -->`))
    return text === undefined ? `| ${title} | not run |` : `| [${title}](#${anchorOf(title)}) | ${resultIn(text)} |`
  })
  return `${introduction}\n| section | result |\n|---|---|\n${rows.join('\n')}\n\n${texts.join('\n')}`
}

/** The text of a section in the given page. Undefined if the page does not contain the section. */
export function keptSection(page: string, name: string): string | undefined {
  const [start, end] = [page.indexOf(`<!-- ${name} -->`), page.indexOf(`<!-- end of ${name} -->`)]
  return start < 0 || end < 0 ? undefined : `${page.slice(start, end)}<!-- end of ${name} -->\n`
}

/** Reads three facts from the lines above the tables of a section: the day, what is over its budget, and what is not complete. */
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
