// Node loads this file before the program of a model. The program is a separate file, so that line numbers in error messages are those of
// its text.

import { createRequire } from 'node:module'

const { OUTPUT_DIR, WORKDIR, CONTEXT_DIR } = process.env
Object.assign(globalThis, { OUTPUT_DIR, OUT_DIR: OUTPUT_DIR, WORKDIR, CONTEXT_DIR })
globalThis.require = createRequire(`${process.cwd()}/`) // models often write CommonJS
