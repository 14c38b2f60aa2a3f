import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hasBrowser, poppler } from '../rendering/render.ts'
import { type CommandLine, createCommandLine } from '../support/command-line.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine({ model: 'offline' })
})
afterEach(() => line.remove())

const sentences = [
  'The club had 214 members at the end of the year.',
  'Members made 1,306 reservations.',
  'The busiest month was July with 240 reservations.',
  'A new member pays 45 euros.',
  'The boathouse was painted in May.',
] as const
const [members, both, reservations, fee, painted] = sentences
const facts = { name: 'facts.txt', content: `${sentences.join(' ')}\n` }

/** The sentences of a list in Markdown. */
const pointsIn = (text: string) => [...text.matchAll(/^- “(.*)”$/gm)].map(([, sentence]) => sentence as string)
const headingsIn = (text: string) => [...text.matchAll(/^##+ (.*)$/gm)].map(([, heading]) => heading as string)

/** Asks for a report, and returns the answer in the terminal and the content of `report.md`. */
async function report(request: string, { name, content } = facts): Promise<{ readonly answer: string; readonly file: string }> {
  writeFileSync(join(line.folder, name), content)
  const { output } = await line.run('run', request, '--quiet', '--conversation', 'c1', '--attach', join(line.folder, name))
  return { answer: output, file: await saved() }
}

async function saved(): Promise<string> {
  expect((await line.run('files', 'c1', '--save', 'out')).exitCode).toBe(0)
  return readFileSync(join(line.folder, 'out', 'report.md'), 'utf8')
}

describe('the sentences of a report', () => {
  it.each<[request: string, expected: readonly string[]]>([
    ['Write a report about the members and reservations.', [members, both, reservations, fee]],
    ['Write a report about the member fees', [members, both, fee]],
    ['Write a report about the reservations, as a Markdown file with all the important facts.', [both, reservations]],
    ['Write a report about the members in facts.txt', [members, both, fee]],
    ['Write a report', sentences],
    ['Write a report about all of these files', sentences],
    ['Write a report with the most important facts of the documents', sentences],
    ['Write a report about facts.txt', sentences],
    // one sentence would be too short for a report
    ['Write a report about the boathouse', sentences],
    ['Write a report about the zebras', sentences],
  ])('%s', async (request, expected) => {
    const { answer, file } = await report(request)
    expect(pointsIn(file)).toEqual(expected)
    expect(pointsIn(answer)).toEqual(expected)
  })

  it('are the whole document when the words of the request are the name of the document', async () => {
    const { file } = await report('Write a report about the club', { ...facts, name: 'club.txt' })
    expect(pointsIn(file)).toEqual(sentences)
  })

  it('include the one that the request is about, even if other sentences are more important', async () => {
    const log = Array.from({ length: 30 }, (_, day) => `On day ${day + 1} the crew cleaned the long wooden deck of the harbour ferry.`)
    const { answer, file } = await report('Write a report about the walrus', {
      name: 'log.txt',
      content: [...log.slice(0, 20), 'A walrus was seen.', ...log.slice(20)].join('\n\n'),
    })
    expect(pointsIn(file)).toHaveLength(5)
    expect(pointsIn(file)).toContain('A walrus was seen.')
    expect(pointsIn(answer)).toEqual(pointsIn(file))
  })

  it('are at most 20 of a document, and the answer has the first of them and says how many more there are', async () => {
    const content = (days: number) => Array.from({ length: days }, (_, day) => `Boat ${day + 1} was painted.\n\nIt rained.`).join('\n\n')
    const { answer, file } = await report('Write a report about the boats', { name: 'days.txt', content: content(12) })
    expect(pointsIn(file)).toEqual(Array.from({ length: 12 }, (_, day) => `Boat ${day + 1} was painted.`))
    expect(pointsIn(answer)).toEqual(pointsIn(file).slice(0, 5))
    expect(answer).toContain('The report has 7 more sentences.')
    const long = await report('Write a report about the boats', { name: 'more-days.txt', content: content(40) })
    expect(long.answer).toContain('The report has 15 more sentences.')
  })

  it.skipIf(!hasBrowser)('are in the PDF', async () => {
    const { answer } = await report('Write a PDF report about the members and reservations.')
    expect(answer).toContain('The report is in `report.pdf`.')
    const text = poppler('pdftotext', readFileSync(join(line.folder, 'out', 'report.pdf'))).replace(/\s+/g, ' ')
    expect(sentences.filter((sentence) => text.includes(sentence))).toEqual([members, both, reservations, fee])
    expect(text).not.toContain(painted)
    expect(pointsIn(answer)).toEqual([members, both, reservations, fee])
  })
})

describe('the headings of an answer about a knowledge base', () => {
  const handbook = [
    '# Handbook',
    '## Fees',
    'A member pays 45 euros per year. Guests pay 5 euros.',
    '## Reservations',
    'Members make reservations until 18:00. A reservation is for two hours.',
    '### Boats',
    'The boats are cleaned in May.',
  ].join('\n\n')

  async function ask(request: string, documents: Readonly<Record<string, string>> = { 'handbook.md': handbook }): Promise<string> {
    const folder = join(line.folder, 'club')
    mkdirSync(folder)
    for (const [name, content] of Object.entries(documents)) writeFileSync(join(folder, name), content)
    return (await line.run('--knowledge', folder, 'run', request, '--quiet', '--conversation', 'c1')).output
  }

  it.each(['Write a report about the fees and reservations.', 'Summarise the fees and reservations'])(
    'name the sections, and the answer cites the document: %s',
    async (request) => {
      const answer = await ask(request)
      expect(headingsIn(answer).sort()).toEqual(['Fees', 'Reservations'])
      expect(answer.match(/^Source: Handbook$/gm)).toHaveLength(2) // the terminal shows the title of the cited document
    },
  )

  it('are the headings of the report', async () => {
    const answer = await ask('Write a report about the fees and reservations.')
    const file = await saved()
    expect(headingsIn(answer)).toEqual(headingsIn(file))
    expect(pointsIn(answer)).toEqual(pointsIn(file))
  })

  it('name the document if all of it was read', async () => {
    expect(headingsIn(await ask('Summarise the handbook fees', { 'a.md': '# Handbook\n\n## Fees\n\nGuests pay 5 euros.\n' }))).toContain(
      'Handbook',
    )
  })

  it('have the page or the lines of a section without a heading', async () => {
    const lines = (word: string) => Array.from({ length: 80 }, (_, index) => `The ${word} has number ${index + 1}.`)
    const answer = await ask('Summarise walrus and zebra', { 'zoo.txt': [...lines('walrus'), ...lines('zebra')].join('\n') })
    expect(headingsIn(answer).sort()).toEqual(['zoo.txt, lines 1-80', 'zoo.txt, lines 81-160'])
  })
})
