#!/usr/bin/env node
// Old syntax on purpose: an outdated Node must be able to parse this file to report that it is outdated.
var warn = process.emitWarning
var major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  console.error(
    `daybook needs Node 24 or newer; this is ${process.version}. Run "nvm install 24" or "fnm install 24", or for this folder only "npm install --save-dev node@24". Then install again with this Node, because npm leaves packages out under an older one: PATH=$PWD/node_modules/.bin:$PATH npm install`,
  )
  process.exitCode = 1
} else {
  process.stdout.on('error', (error) => {
    if (error.code === 'EPIPE') return // the reader closed the pipe, as in `daybook export … | head`
    console.error(`the output can not be written: ${error.message}`)
    process.exit(1)
  })
  process.emitWarning = (warning, options, ...more) => {
    if (Object(options).code === 'MODULE_TYPELESS_PACKAGE_JSON') return // daybook.config.ts may be in a folder without a package.json
    if (String(warning).startsWith('stripTypeScriptTypes')) return // it only helps to find the place of a syntax error
    warn.call(process, warning, options, ...more)
  }
  import('node:fs')
    .then((fs) => {
      var source = new URL('../src/cli/main.ts', import.meta.url)
      return import(fs.existsSync(source) ? source.href : new URL('../dist/cli/main.js', import.meta.url).href)
    })
    .then((cli) => cli.main(process.argv.slice(2)))
    .then((exitCode) => {
      process.exitCode = exitCode
    })
}
