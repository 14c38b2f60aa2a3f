import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { scenarios, torture } from '../../../src/testing/torture/torture.ts'
import { testDatabase } from '../../support/stores.ts'
import { obligationFaults, type PlantedFault, plantedFaults } from './planted-faults.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-torture-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const databaseUrl = testDatabase()

it('a correct store passes every row: killed, frozen and racing processes find nothing wrong, and leave nothing behind', async () => {
  const rows = await torture({ folder, rounds: 1, seed: 1, ...(databaseUrl !== undefined && { databaseUrl }) })
  expect(rows.flatMap(({ name, violations }) => violations.map((found) => ({ name, ...found })))).toEqual([])
  expect(rows.map(({ name }) => name)).toEqual(scenarios.map(({ name }) => name))
  expect(rows.filter(({ checks, rounds }) => checks === 0 || rounds !== 1)).toEqual([])
  expect(readdirSync(folder)).toEqual([])
}, 600_000)

/** A module as the option `--store-module` takes it. */
function moduleWith(name: string): string {
  const file = join(folder, `store-${Object.keys({ ...plantedFaults, ...obligationFaults }).indexOf(name)}.mjs`)
  const faults = pathToFileURL(join(import.meta.dirname, 'planted-faults.ts')).href
  writeFileSync(
    file,
    `import { openFaultyStore } from '${faults}'\nexport const openStore = (place) => openFaultyStore('${name}', place)\n`,
  )
  return file
}

async function expectFound(name: string, { row, kind }: PlantedFault): Promise<void> {
  const module = moduleWith(name)
  // a fault that needs a moment between two steps may be missed once
  for (let attempt = 1; ; attempt++) {
    const [found] = await torture({ folder, module, only: [row], rounds: 1, seed: attempt })
    const kinds = new Set(found?.violations.map((each) => each.kind))
    if (!kinds.has(kind) && attempt < 3) continue
    expect([...kinds]).toContain(kind)
    break
  }
  rmSync(module)
}

describe.skipIf(databaseUrl !== undefined)('torture finds a store that', () => {
  it.each(Object.entries(plantedFaults))('%s', expectFound, 600_000)
})

describe.skipIf(databaseUrl !== undefined)('each obligation fails with a store that', () => {
  it.each(Object.entries(obligationFaults))('%s', expectFound, 600_000)

  it('and there is a fault for each of the six', () => {
    const obligations = scenarios.filter(({ isObligation }) => isObligation).map(({ name }) => name)
    expect(obligations).toHaveLength(6)
    expect(obligations.filter((name) => !Object.values(obligationFaults).some(({ row }) => row === name))).toEqual([])
  })
})
