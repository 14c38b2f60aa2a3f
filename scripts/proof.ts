// `npm run proof [-- NAME …] [--full] [--dataset FILE]` runs the commands that show what Daybook promises, and writes docs/proof.md from
// their output. With names, only the named sections are made again, and the page keeps the other sections. `npm run proof -- --list` prints
// the names.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createPage, keptSection } from './proof/page.ts'
import { type MadeSection, makeSection } from './proof/run.ts'
import { type Section, sections } from './proof/sections.ts'

const page = 'docs/proof.md'

const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { list: { type: 'boolean' }, full: { type: 'boolean' }, dataset: { type: 'string', multiple: true } },
})
const datasets = (values.dataset ?? []).map((path) => resolve(path))
const missing = datasets.filter((path) => !existsSync(path))
const unknown = names.filter((name) => !sections.some((section) => section.name === name))

if (values.list) {
  for (const { name, title, minutes } of sections) console.log(`${name.padEnd(12)} ${title} (at most ${minutes} minutes)`)
} else if (unknown.length + missing.length > 0) {
  if (unknown.length > 0) console.error(`There is no section ${unknown.join(', ')}. \`npm run proof -- --list\` prints the names.`)
  if (missing.length > 0) console.error(`There is no file ${missing.join(', ')}.`)
  process.exitCode = 2
} else {
  await writeProof()
}

/** Makes the sections one after the other. The page is written after each, so that an interrupted run keeps what it has made. */
async function writeProof(): Promise<void> {
  const made = new Map<string, MadeSection>()
  const wanted = sections.filter(({ name }) => names.length === 0 || names.includes(name))
  const before = existsSync(page) ? readFileSync(page, 'utf8') : ''
  for (const [index, section] of wanted.entries()) {
    console.log(`\n[${index + 1} of ${wanted.length}] ${section.title} (at most ${chosen(section).minutes} minutes)`)
    made.set(section.name, await makeSection(chosen(section), console.log))
    const texts = sections.flatMap(({ name }) => made.get(name)?.text ?? keptSection(before, name) ?? [])
    writeFileSync(page, createPage(sections, texts))
  }
  console.log(`\nwrote ${page}`)
  for (const [name, { minutes, problems }] of made) {
    console.log(`${name.padEnd(12)} ${minutes.toFixed(1).padStart(6)} minutes  ${problems.length === 0 ? 'complete' : problems.join('; ')}`)
    if (problems.length > 0) process.exitCode = 1
  }
}

/** The section with the options of the command line applied: `--full` and `--dataset`. */
function chosen(section: Section): Section {
  const { full, ...short } = section
  const form: Section = values.full && full ? { ...short, ...full } : short
  if (section.name !== 'recall' || datasets.length === 0) return form
  const options = datasets.flatMap((path) => ['--data', path])
  return { ...form, commands: form.commands.map((command) => [...command, ...options]) }
}
