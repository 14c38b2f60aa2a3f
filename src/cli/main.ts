import { createRequire } from 'node:module'

const { version, description } = createRequire(import.meta.url)('../../package.json') as { version: string; description: string }

/** The whole command line, as a function: arguments in, exit code out. */
export async function main(_args: readonly string[]): Promise<number> {
  console.log(`daybook ${version}: ${description}`)
  return 0
}
