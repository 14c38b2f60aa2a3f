import { describe, expect, it } from 'vitest'
import { describeFiles } from '../../testing/conformance/files.ts'
import { createMemoryFiles } from './memory.ts'

describeFiles({ describe, it, expect }, 'memory', async () => createMemoryFiles())
