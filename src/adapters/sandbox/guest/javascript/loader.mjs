// Node loads this file before the program of a model. The program is a separate file, so that line numbers in error messages are those of
// its text.

import { builtinModules, createRequire, registerHooks } from 'node:module'
import { fetch_ctx, tool_call, toolsOf } from './daybook.mjs'

const { OUTPUT_DIR, WORKDIR, CONTEXT_DIR, DAYBOOK_TOOLS = '' } = process.env
const ids = DAYBOOK_TOOLS.split(',').filter((id) => id !== '')
// An alias that is the name of a module or a variable of Node is left out. Its tools can be called with `tool_call`.
const aliases = ids.map((id) => id.split('.')[0]).filter((alias) => !builtinModules.includes(alias) && !(alias in globalThis))

/** What a program can use as a global variable, or import by its name. */
const modules = {
  ...Object.fromEntries(aliases.map((alias) => [alias, toolsOf(alias, ids)])),
  ctx_tools: { fetch_ctx },
  context_tools: { fetch_ctx },
  io_tools: { tool_call },
  daybook: { fetch_ctx, tool_call },
}

Object.assign(globalThis, { OUTPUT_DIR, OUT_DIR: OUTPUT_DIR, WORKDIR, CONTEXT_DIR, fetch_ctx, tool_call, ...modules })
globalThis.require = createRequire(`${process.cwd()}/`) // models often write CommonJS

registerHooks({
  resolve: (specifier, context, next) =>
    Object.hasOwn(modules, specifier) ? { url: `daybook:${specifier}`, shortCircuit: true } : next(specifier, context),
  load(url, context, next) {
    if (!url.startsWith('daybook:')) return next(url, context)
    const name = JSON.stringify(url.slice('daybook:'.length))
    const functions = Object.keys(modules[JSON.parse(name)]).map((each) => `export const ${each} = globalThis[${name}].${each}`)
    return { format: 'module', source: [`export default globalThis[${name}]`, ...functions].join('\n'), shortCircuit: true }
  },
})
