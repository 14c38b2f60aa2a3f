import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../support/command-line.ts'
import { handbook, lease, orders } from '../support/offline-documents.ts'
import { pdf } from '../support/sample-files/pdf.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine({ model: 'offline' })
})
afterEach(() => line.remove())

interface File {
  readonly name: string
  readonly content: string | Uint8Array
}

/** Runs one message, and returns the answer that a user reads in the terminal. */
async function ask(question: string, ...files: readonly File[]): Promise<string> {
  return (await line.run('run', question, '--quiet', ...attached(files))).output
}

function attached(files: readonly File[]): readonly string[] {
  for (const { name, content } of files) writeFileSync(join(line.folder, name), content)
  return files.flatMap(({ name }) => ['--attach', join(line.folder, name)])
}

describe('the offline model with files of users', () => {
  it.each(['Write a report', 'Please draft a short summary of it'])('%s: the file can be downloaded', async (request) => {
    const { output } = await line.run('run', request, '--json', ...attached([handbook]))
    expect(JSON.parse(output.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      ok: true,
      files: expect.arrayContaining([
        expect.objectContaining({ path: expect.stringMatching(/\.files\/report\.md$/), mime: 'text/markdown', rn: expect.any(String) }),
      ]),
    })
  })

  const contract = {
    name: 'contract.pdf',
    content: pdf(['The guaranteed price is 900 kroner. The supplier grants a discount. The average discount is 12 percent.']),
  }

  it.each([
    ['What is the guaranteed price in total?', 'contract.pdf', 'The guaranteed price is 900 kroner.'],
    ['What is the average price with the discount?', 'contract.pdf', 'The average discount is 12 percent'],
    ['What is the highest price in the PDF?', 'contract.pdf', 'I found nothing about that'],
    ['What is the guaranteed price in the PDF?', 'contract.pdf', 'The guaranteed price is 900 kroner.'],
    ['What is the highest price in the CSV?', 'orders.csv', '1399.00'],
    ['What is the highest price?', 'orders.csv', '1399.00'],
    ['Summarise the attached PDF', 'contract.pdf', 'guaranteed price'],
    ['Summarise the spreadsheet', 'orders.csv', '3034.65'],
  ])('%s is answered from %s', async (question, name, words) => {
    for (const files of [
      [contract, orders],
      [orders, contract],
    ]) {
      const answer = await ask(question, ...files)
      expect(answer).toContain(words)
      expect([contract, orders].filter((file) => answer.includes(file.name)).map((file) => file.name)).toEqual([name])
    }
  })

  it.each([
    ['How much is the monthly rent?', lease],
    ['Which order has the highest price?', orders],
    ['How many guests does the café seat?', handbook],
    ['What is the colour of the roof?', handbook],
    ['Summarise it', lease],
    ['Summarise it', orders],
  ])('%s: the answer names the file once', async (question, file) => {
    expect((await ask(question, file)).split(file.name)).toHaveLength(2)
  })
})
