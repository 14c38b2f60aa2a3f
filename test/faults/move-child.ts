/**
 * Moves an installation, for a test that kills this process:
 *
 *   node move-child.ts <from> <to> <data>
 *
 * It prints a line for every step of the progress.
 */
import { writeSync } from 'node:fs'
import { moveInstallation } from '../../src/wiring/move/move.ts'

const [from = '', to = '', data = ''] = process.argv.slice(2)
await moveInstallation({ from, to, data, onProgress: ({ step, done }) => void writeSync(1, `${step} ${done}\n`) })
