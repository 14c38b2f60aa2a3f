// `npm run bench [-- name …]` runs all benchmarks or the named ones, one after another in one process. Compare ratios only within one run,
// because the speed of the machine may change between runs. The first argument that begins with `--` and all arguments after it are passed
// to the benchmarks.

import { readdirSync } from 'node:fs'

const args = process.argv.slice(2)
const firstOption = args.findIndex((argument) => argument.startsWith('--'))
const [wanted, options] = firstOption < 0 ? [args, []] : [args.slice(0, firstOption), args.slice(firstOption)]
const benches = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.replace('.bench.ts', ''))
  .filter((name) => wanted.length === 0 || wanted.includes(name))
  .sort()

for (const name of benches) {
  console.log(`\n${name}`)
  const { bench } = (await import(`./${name}.bench.ts`)) as { bench: (options: readonly string[]) => Promise<void> }
  await bench(options)
}
