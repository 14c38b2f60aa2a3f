import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineAgent } from '../../../src/wiring/define-agent.ts'
import { stepModel, stepTool } from './step-model.ts'

/** An agent for the option `--agent`, with the slow model of the tests. */
export default defineAgent({ model: stepModel(mkdtempSync(join(tmpdir(), 'daybook-steps-')), 40), tools: [stepTool()] })
