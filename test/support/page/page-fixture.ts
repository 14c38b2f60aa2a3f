import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { Client } from '../../../src/client/client.ts'
import { type Reply, reply, type ScriptedReply, scriptedModel } from '../../../src/testing/scripted-model.ts'
import { closeServers, openServer, type ServerFixture, type ServerFixtureOptions } from '../server-fixture.ts'
import { type PageOptions, startBrowser, type TestBrowser } from './browser.ts'

/** The server, the model and the browser of one test file. */
export interface PageFixture {
  readonly server: ServerFixture
  readonly client: Client
  readonly url: string
  /** Adds replies that the model gives next. */
  say(...replies: readonly Reply[]): void
  /** Opens the page at a path. */
  open(path?: string, options?: PageOptions): Promise<Page>
  /** Problems that the test expects, such as the failed requests after a server was stopped. */
  expectProblems(pattern: RegExp): void
}

/**
 * Starts a server with a scripted model and a browser before the tests of a file. After each test, checks that no page reported an error in
 * its console, a failed request or an uncaught error.
 */
export function usePage(options: ServerFixtureOptions = {}): PageFixture {
  const replies: Reply[] = []
  let server: ServerFixture | undefined
  let browser: TestBrowser | undefined
  let expected: RegExp | undefined
  beforeAll(async () => {
    browser = await startBrowser()
    server = await openServer({ model: scriptedModel(replies), ...options })
  })
  afterEach(async () => {
    await browser?.closePages()
    const problems = browser?.takeProblems().filter((problem) => !expected?.test(problem))
    expected = undefined
    expect(problems).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    await closeServers()
  })
  const running = () => {
    if (!server || !browser) throw new Error('the fixture is used before its tests')
    return { server, browser }
  }
  return {
    get server() {
      return running().server
    },
    get client() {
      return running().server.client
    },
    get url() {
      return running().server.server.url
    },
    say: (...more) => void replies.push(...more),
    open: (path = '/', how) => running().browser.open(`${running().server.server.url}${path}`, how),
    expectProblems(pattern) {
      expected = pattern
    },
  }
}

/** An answer that is sent part by part, when the test says so. */
export interface HeldAnswer {
  readonly reply: ScriptedReply
  /** Lets the model send this many further parts. Without a number, the model sends all remaining parts and ends. */
  release(parts?: number): void
}

/** Makes an answer whose parts wait until the test releases them. */
export function heldAnswer(parts: readonly string[], more: Parameters<typeof reply.answer>[1] = {}): HeldAnswer {
  const [head = '', tail = ''] = reply.answer('\0', more).split('\0')
  return heldReply([head, ...parts, tail])
}

/** Makes a reply whose parts wait until the test releases them. The first part is sent without waiting. */
export function heldReply(chunks: readonly string[]): HeldAnswer {
  let allowed = 0
  let wake = () => {}
  return {
    reply: {
      text: 'sent in pieces',
      chunks,
      async onChunk(index) {
        while (index > allowed)
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      },
    },
    release(count = Number.POSITIVE_INFINITY) {
      allowed += count
      wake()
    },
  }
}
