import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'

/** Bundles a module for browsers, as the build of a page does. */
async function bundle(source: string) {
  const entry = {
    name: 'entry',
    resolveId: (id: string) => (id === 'entry' ? id : null),
    load: (id: string) => (id === 'entry' ? source : null),
  }
  const build = await rolldown({ input: 'entry', platform: 'browser', logLevel: 'silent', plugins: [entry] })
  const { output } = await build.generate({ format: 'esm', minify: true })
  await build.close()
  const chunks = output.flatMap((part) => (part.type === 'chunk' ? [part] : []))
  return {
    modules: chunks.flatMap(({ moduleIds }) => moduleIds),
    imports: chunks.flatMap(({ imports }) => imports),
    kilobytes: Math.round(gzipSync(chunks.map(({ code }) => code).join('')).length / 1024),
  }
}

const client = `${import.meta.dirname}/../src/client/index.ts`

it('bundles the client for browsers without any other package', async () => {
  const { modules, imports, kilobytes } = await bundle(`export * from ${JSON.stringify(client)}`)
  expect(modules.filter((id) => id.includes('node_modules'))).toEqual([])
  expect(imports).toEqual([])
  expect(modules.length).toBeGreaterThan(10)
  expect(kilobytes).toBeLessThanOrEqual(21)
})

it('leaves out what a page of a chat does not use', async () => {
  const { modules, kilobytes } = await bundle(`export { createClient, emptyView, foldEvent } from ${JSON.stringify(client)}`)
  expect(modules.filter((id) => id.includes('/stream/json/'))).toEqual([])
  expect(kilobytes).toBeLessThanOrEqual(12)
})

it('computes timelines in a browser with little code', async () => {
  const { modules, kilobytes } = await bundle(`export { applyChange, blocksOf, emptyTimeline } from ${JSON.stringify(client)}`)
  expect(modules.filter((id) => id.includes('node_modules'))).toEqual([])
  expect(kilobytes).toBeLessThanOrEqual(9)
})
