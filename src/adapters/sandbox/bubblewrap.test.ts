import { describe, expect, it } from 'vitest'
import { describeSandbox } from '../../testing/conformance/sandbox.ts'
import { createBubblewrapSandbox, findSandbox } from './index.ts'

const found = await findSandbox()
// A machine without bubblewrap can not run these tests. With CI=true `npm test` fails there before.
describe.skipIf(found.sandbox === undefined)('bubblewrap', () => {
  const languages = found.sandbox?.languages ?? []
  describeSandbox({ describe, it, expect }, 'createBubblewrapSandbox', async () => createBubblewrapSandbox({ languages, graceMs: 1_000 }))
})
