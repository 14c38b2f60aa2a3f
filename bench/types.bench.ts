import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')

/**
 * Measures the work of the compiler for an agent with many tools. This work should be little more than the work for the schemas of the
 * tools alone.
 */
export async function bench(): Promise<void> {
  const [one, many] = [instantiations(1, tool), instantiations(50, tool)]
  const [oneInferred, manyInferred] = [instantiations(1, inferred), instantiations(50, inferred)]
  report('50 tools', many / one, 1.3, `against one tool; ${one} and ${many} instantiations`)
  report('one more tool', (many - one) / (manyInferred - oneInferred), 2, `against one more z.infer; ${Math.round((many - one) / 49)}`)
}

const fields = (index: number) =>
  `z.object({ name${index}: z.string(), often: z.number().int().optional(), kind: z.enum(['a', 'b']).default('a') })`
const inferred = (index: number) =>
  `const schema${index} = ${fields(index)}\nexport const run${index} = ({ name${index}, often }: z.infer<typeof schema${index}>) => name${index}.length + (often ?? 0)`
const tool = (index: number) =>
  `export const tool${index} = defineTool({ id: 'sample.tool${index}', description: '', params: ${fields(index)}, run: ({ name${index}, often }) => name${index}.length + (often ?? 0) })`

/**
 * The number of type instantiations that the compiler makes for a file with `count` lines. All files have the same imports, so
 * differences come only from the lines.
 */
function instantiations(count: number, line: (index: number) => string): number {
  const folder = mkdtempSync(join(root, '.types-'))
  const defineModule = relative(folder, join(root, 'src/tools/define.ts'))
  const agent = relative(folder, join(root, 'src/agent/agent.ts'))
  const listed = line === tool ? Array.from({ length: count }, (_, index) => `tool${index}`).join(', ') : ''
  const lines = Array.from({ length: count }, (_, index) => line(index))
  const head = [`import { z } from 'zod'`, `import { defineTool } from '${defineModule}'`, `import type { AgentParts } from '${agent}'`]
  const tail = ['export { defineTool }', `export const parts: Pick<AgentParts, 'tools'> = { tools: [${listed}] }`]
  try {
    writeFileSync(join(folder, 'tools.ts'), [...head, ...lines, ...tail].join('\n'))
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../tsconfig.json', include: ['tools.ts'], exclude: [] }))
    const said = execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder, '--extendedDiagnostics', '--singleThreaded'], {
      encoding: 'utf8',
    })
    return Number(/Instantiations:\s+(\d+)/.exec(said)?.[1])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function report(what: string, ratio: number, budget: number, about: string): void {
  console.log(`${what.padEnd(40)} ${ratio.toFixed(2)} ×  (budget ${budget})  ${ratio <= budget ? 'ok' : 'OVER'}  ${about}`)
}
