import { defineConfig } from 'vitest/config'
import { attackTable } from './test/support/attacks/table.ts'
import { slowestFiles } from './test/support/slowest-files.ts'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'ui/src/**/*.test.{ts,tsx}'],
    globalSetup: ['test/support/page/build.ts'],
    exclude: ['test/fixtures/**', 'node_modules/**'],
    // Generous: a correct suite must not fail because the machine is busy.
    testTimeout: 180_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: '100%', // the default leaves one core idle, and most slow suites wait for child processes
    isolate: false, // tests share no state, so a worker may run many files
    reporters: ['default', attackTable, slowestFiles],
  },
})
