import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

/** Prints the ten test files that took longest, so that slow new tests are noticed. It also reports the end of the run. */
export const slowestFiles: Reporter = {
  onTestRunEnd(modules: readonly TestModule[], _errors: unknown, reason: string) {
    const slowest = modules
      .map((module) => ({
        path: `${relative('.', module.moduleId)}${module.project.name === 'postgres' ? ' with PostgreSQL' : ''}`,
        seconds: module.diagnostic().duration / 1000,
      }))
      .sort((a, b) => b.seconds - a.seconds)
      .slice(0, 10)
    if (modules.length > slowest.length) {
      console.log('\nthe ten slowest files')
      for (const { path, seconds } of slowest) console.log(`${seconds.toFixed(1).padStart(7)} s  ${path}`)
    }
    process.send?.(reason) // tells scripts/run-tests.ts that the last test has ended
  },
}
