import { readFileSync } from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import { reply } from '../src/testing/scripted-model.ts'
import { writtenPages } from './support/docs/pages.ts'
import { closeServers, openServer } from './support/server-fixture.ts'

afterEach(closeServers)

interface CurlRequest {
  readonly method: string
  readonly path: string
  readonly body: string | undefined
}

/** The requests to a server on this machine in the code blocks of a page. Streams and requests with tokens are left out. */
const requestsIn = (page: string): readonly CurlRequest[] =>
  [...readFileSync(page, 'utf8').matchAll(/^curl (?:-X ([A-Z]+) )?http:\/\/127\.0\.0\.1:4127(\S+)(?:.* -d '([^']+)')?/gm)].map(
    ([, method = 'GET', path = '', body]) => ({ method, path, body }),
  )

const pages = writtenPages.filter((page) => requestsIn(page).length > 0)

it('there are pages with requests', () => {
  expect(pages).toEqual(expect.arrayContaining(['docs/server.md', 'docs/guides/structured-output.md']))
})

it.each(pages)('a server accepts the requests of %s', async (page) => {
  const { server } = await openServer({ replies: Array.from({ length: 20 }, () => reply.answer('{"number": "2026-17", "total": 180}')) })
  for (const { method, path, body } of requestsIn(page)) {
    const headers = { host: '127.0.0.1', 'content-type': 'application/json' }
    const response = await fetch(`${server.url}${path}`, { method, headers, ...(body !== undefined && { body }) })
    expect({ path, ok: response.ok, text: response.ok ? '' : await response.text() }).toEqual({ path, ok: true, text: '' })
    await response.body?.cancel()
  }
})
