import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { writeProgram } from './program.ts'
import type { Query } from './query.ts'
import { ProgramResult, runQuery, toProgramResult } from './query.ts'
import { readQuestion } from './question.ts'
import { parseTable } from './table.ts'

const file = [
  'date;region;product;units;revenue',
  '2025-01-10;North;Kettle;12;1.358,80 €',
  '2025-01-22;South;"The ""best"" kettle";7;209,30 €',
  '2025-02-03;North;"Toaster; two',
  'lines";20;899,00 €',
  '',
  '2025-03-01;Süd;Toaster;31;1.393,45 €',
  '2025-03-09;North;Lamp;;224,91 €',
].join('\r\n')
const table = parseTable(file)
const paths = { table: 'turn_1/attachments/sales.csv', answer: 'turn_1/outputs/answer.json' }

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'daybook-program-'))
  await mkdir(join(folder, 'turn_1/attachments'), { recursive: true })
  await writeFile(join(folder, paths.table), file)
})
afterAll(() => rm(folder, { recursive: true }))

async function run(query: Query): Promise<ProgramResult> {
  await writeFile(join(folder, 'program.mjs'), writeProgram(query, paths))
  await promisify(execFile)(process.execPath, ['program.mjs'], { cwd: folder, env: { OUTPUT_DIR: folder } })
  return ProgramResult.parse(JSON.parse(await readFile(join(folder, paths.answer), 'utf8')))
}

it.each([
  'What is the total revenue?',
  'What is the average units?',
  'Which row has the highest revenue in the North?',
  'Top 2 rows by revenue',
  'What is the total revenue per region?',
  'Which region has the most revenue?',
  'How many rows have a revenue above 300?',
  'How many different products are there?',
  'List the rows in March',
  'How many rows are in süd?',
])('the program computes what runQuery computes: %s', async (question) => {
  const query = readQuestion(question, table)
  if (!query) throw new Error('the question must be about the table')
  expect(await run(query)).toEqual(toProgramResult(table, runQuery(table, query)))
})
