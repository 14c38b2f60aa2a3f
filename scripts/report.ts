/** Sizes of what we wrote. Reports, never fails: a long file asks a question, it does not break a build. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
  .map((path) => ({ path, lines: readFileSync(join('src', path), 'utf8').split('\n').length - 1 }))

const sources = files.filter(({ path }) => !path.endsWith('.test.ts'))
const longest = [...sources].sort((a, b) => b.lines - a.lines)
const median = longest[Math.floor(longest.length / 2)]?.lines ?? 0
const total = (list: readonly { lines: number }[]) => list.reduce((sum, { lines }) => sum + lines, 0)

console.log(`${sources.length} source files, ${total(sources)} lines; ${files.length - sources.length} test files beside them`)
console.log(`median ${median} lines, longest ${longest[0]?.lines ?? 0}`)
console.log(
  `past 300: ${longest.filter(({ lines }) => lines > 300).length}, past 400: ${longest.filter(({ lines }) => lines > 400).length}`,
)
console.log('\nthe ten longest')
for (const { path, lines } of longest.slice(0, 10)) console.log(`${String(lines).padStart(6)}  ${path}`)

console.log('\nfunctions past 60 lines')
const long = sources.flatMap(({ path }) => longFunctions(path))
for (const line of long.length > 0 ? long : ['  none']) console.log(line)

/** By indentation, which the formatter guarantees: a function ends at the first line that closes at its own depth. */
function longFunctions(path: string): readonly string[] {
  const lines = readFileSync(join('src', path), 'utf8').split('\n')
  return lines.flatMap((line, start) => {
    const opening = /^( *)(?:export )?(?:async )?(?:function\*? (\w+)|const (\w+) = (?:async )?\(.*=> \{$)/.exec(line)
    if (!opening) return []
    const end = lines.findIndex((later, index) => index > start && later.startsWith(`${opening[1]}}`))
    return end - start > 60 ? [`${String(end - start + 1).padStart(6)}  ${path}  ${opening[2] ?? opening[3]}`] : []
  })
}
