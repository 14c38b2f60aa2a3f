import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { attackTable } from './test/support/attacks/table.ts'
import { hasPostgres } from './test/support/postgres.ts'
import { slowestFiles } from './test/support/slowest-files.ts'

/** The suites that also run with PostgreSQL. They open their stores with `test/support/stores.ts`. */
const postgresSuites = [
  'test/waits/{budgets,fallback-model,killed-twice,provider,random-orders,sub-agents,waiting}.test.ts',
  'test/faults/{loop-crash,loop-resume,loop-ownership,waits-crash,response-crash,followup-crash,parallel-crash,options-crash,poison-call}.test.ts',
  'test/faults/{budgets-crash,server-crash,load-crash,shared-turns,dead-owners,claim-race}.test.ts',
  'test/faults/torture/torture.test.ts',
  'test/e2e/{followers,resumed-streams,hostile-requests,hostile-imports,foreign-blobs,roles}.test.ts',
  'test/files/tenants.test.ts',
  'test/recall/*.test.ts',
  'test/faults/memory-crash.test.ts',
  'src/{tools/recall/memory-search,wiring/memory}.test.ts',
  'test/turns/{kept-timelines,shared-conversations,withdrawn-messages}.test.ts',
]

const daybook = {
  extends: true as const,
  test: { name: 'daybook', include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'ui/src/**/*.test.{ts,tsx}', 'examples/own-store.test.ts'] },
}
const postgres = {
  extends: true as const,
  test: {
    name: 'postgres',
    include: postgresSuites,
    globalSetup: ['test/support/postgres-run.ts'],
    setupFiles: ['test/support/postgres-worker.ts'],
  },
}

export default defineConfig({
  // the page imports the client by its name in the package
  resolve: { alias: { 'daybook/client': fileURLToPath(new URL('./src/client/index.ts', import.meta.url)) } },
  ssr: { resolve: { conditions: ['daybook-source', 'module', 'node'] } }, // examples import `daybook` by its name
  test: {
    globalSetup: ['test/support/page/build.ts'],
    exclude: ['test/fixtures/**', 'node_modules/**'],
    // Generous: a correct suite must not fail because the machine is busy.
    testTimeout: 180_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    // A browser or a database server can be late on a busy machine. The output names every test that needed another attempt.
    retry: process.env.CI ? 2 : 0,
    // more than one worker per core, because most slow suites wait for child processes
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    isolate: false, // tests share no state, so a worker may run many files
    reporters: ['default', attackTable, slowestFiles],
    projects: hasPostgres ? [daybook, postgres] : [daybook],
  },
})
