/** Runs every *.bench.ts under bench/, one after another, in this one process: ratios mean something only within a run. */
import { readdirSync } from 'node:fs'

for (const file of readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.bench.ts'))
  .sort()) {
  console.log(`\n${file.replace('.bench.ts', '')}`)
  const { bench } = (await import(`./${file}`)) as { bench: () => Promise<void> }
  await bench()
}
