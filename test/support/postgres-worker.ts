import { inject } from 'vitest'
import { DATABASE_VARIABLE } from './stores.ts'

// Runs in each worker before its suites: from now on, `stores.ts` opens stores in PostgreSQL.
process.env[DATABASE_VARIABLE] = inject('databaseUrl')
