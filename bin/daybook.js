#!/usr/bin/env node
// Plain old JavaScript: an older Node must be able to read this file in order to be told that it is too old.
var warn = process.emitWarning
var major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  console.error(`daybook needs Node 24 or newer; this is ${process.version}. In a checkout, \`npm start\` brings its own.`)
  process.exitCode = 1
} else {
  process.stdout.on('error', (error) => {
    if (error.code !== 'EPIPE') throw error // `daybook export … | head`: whoever read has read enough
  })
  process.emitWarning = (warning, options, ...more) => {
    if (Object(options).code !== 'MODULE_TYPELESS_PACKAGE_JSON') warn.call(process, warning, options, ...more) // a daybook.config.ts may stand alone
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
