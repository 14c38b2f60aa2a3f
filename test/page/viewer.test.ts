import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countAttempts } from '../support/attacks/count.ts'
import { usePage } from '../support/page/page-fixture.ts'
import { collectMessages, connections, openTrap, scripts, type Trap } from '../support/page/trap.ts'

const page = usePage()
let trap: Trap
beforeAll(async () => {
  trap = await openTrap()
})
afterAll(() => trap.close())

/** Opens the page with a viewer in it, and returns a function that shows content in the viewer. */
async function openViewer() {
  const tab = await page.open()
  const messages = await collectMessages(tab)
  await tab.evaluate(`const frame = document.createElement('iframe')
    frame.id = 'viewer'
    frame.setAttribute('sandbox', 'allow-scripts')
    frame.src = 'page/viewer.html'
    document.body.append(frame)`)
  const states = async () => (await messages()).filter((message) => (message as { type?: string }).type === 'daybook.viewer')
  await expect.poll(states).toMatchObject([{ state: 'ready' }])
  let shown = 0
  async function show(kind: string, text: unknown) {
    const id = `content-${shown++}`
    const message = JSON.stringify({ type: 'daybook.show', id, kind, text })
    await tab.evaluate(`document.querySelector('#viewer').contentWindow.postMessage(${message}, '*')`)
    await expect.poll(async () => (await states()).some((message) => (message as { id?: string }).id === id)).toBe(true)
    return (await states()).find((message) => (message as { id?: string }).id === id)
  }
  return { tab, messages, show }
}

// Run in the browser. The types of the tests do not include those of browsers.
const widthOf = (image: unknown) => (image as { readonly naturalWidth: number }).naturalWidth
const stylesOf = (element: unknown) => {
  const browser = globalThis as unknown as { getComputedStyle(of: unknown): { readonly color: string; readonly marginLeft: string } }
  const { color, marginLeft } = browser.getComputedStyle(element)
  return [color, marginLeft]
}

const contentOf = (tab: Page) => tab.frameLocator('#viewer').frameLocator('iframe')

/** Presses what hostile content asks people to press, and gives it time to act. */
async function use(tab: Page): Promise<void> {
  for (const name of ['#go', '#press']) {
    const target = contentOf(tab).locator(name)
    if ((await target.count()) > 0) await target.first().click({ timeout: 2_000, force: true })
  }
  await tab.waitForTimeout(50)
}

describe('the viewer', () => {
  it('shows a web page with its styles and pictures', async () => {
    const { tab, show } = await openViewer()
    const picture = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
    const html = `<style>h1{color:rgb(1,2,3)}</style><h1 style="margin-left:7px">Report</h1><img src="${picture}"><a href="#end">go</a>`
    expect(await show('html', html)).toMatchObject({ state: 'shown' })
    const heading = contentOf(tab).getByRole('heading', { name: 'Report' })
    expect(await heading.evaluate(stylesOf)).toEqual(['rgb(1, 2, 3)', '7px'])
    expect(await contentOf(tab).locator('img').evaluate(widthOf)).toBe(1)
    expect(await contentOf(tab).locator('a').getAttribute('href')).toBe('#end')
  })

  it('shows a picture and says its size', async () => {
    const { show } = await openViewer()
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="40" height="30"/></svg>'
    expect(await show('svg', svg)).toMatchObject({ state: 'shown', width: 40, height: 30 })
    expect(await show('svg', 'no picture')).toMatchObject({ state: 'failed', message: 'This is not a picture that can be shown.' })
  })

  it('draws a diagram as a picture, and says why one can not be drawn', async () => {
    const { tab, show } = await openViewer()
    expect(await show('mermaid', 'flowchart LR\n  A[Start] --> B[End]')).toMatchObject({ state: 'shown', width: expect.any(Number) })
    expect(await tab.frameLocator('#viewer').locator('img').evaluate(widthOf)).toBeGreaterThan(50)
    expect(await show('mermaid', 'flowchart LR\n  A[Start')).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/parse|expect/i),
    })
    expect(await show('mermaid', 'x'.repeat(60_000))).toMatchObject({ state: 'failed', message: expect.stringContaining('longer') })
    expect(await show('strange', 'x')).toMatchObject({ state: 'failed' })
    expect(await show('html', 7)).toMatchObject({ state: 'failed' })
  })

  it('has an origin of its own, and no other page can frame it', async () => {
    const { tab } = await openViewer()
    expect(
      await tab
        .frames()
        .find((frame) => frame.url().endsWith('/viewer.html'))
        ?.evaluate('origin'),
    ).toBe('null')
    const { headers } = await fetch(`${page.url}/page/viewer.html`)
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'self'")
    expect(headers.get('content-security-policy')).toMatch(/(^|; )sandbox allow-scripts(;|$)/)
    expect(headers.get('x-frame-options')).toBe('SAMEORIGIN')
    const scriptSource = /script-src ([^;]*)/.exec(headers.get('content-security-policy') ?? '')?.[1]
    expect(scriptSource).toBe("'self'")
  })

  it('runs no script of the content, in any kind of it', async (context) => {
    countAttempts(context, 3 * scripts().length)
    const { tab, show, messages } = await openViewer()
    const popups: string[] = []
    tab.on('popup', (popup) => popups.push(popup.url()))
    tab.on('dialog', (dialog) => dialog.dismiss())
    page.expectProblems(/./) // the browser reports what it has blocked
    const before = tab.url()
    for (const html of scripts()) {
      await show('html', `<p>content</p>${html}`)
      await use(tab)
    }
    for (const piece of scripts()) await show('svg', `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${piece}</svg>`)
    for (const label of [...scripts(), 'x"]; click A href "javascript:alert(1)"', 'x"]; click A call alert()'])
      await show('mermaid', `flowchart LR\n  A["${label.replaceAll('"', "'")}"] --> B`)
    await tab.waitForTimeout(300)
    expect(await messages()).not.toContain('ran')
    expect([tab.url(), popups]).toEqual([before, []])
  })

  it('sends nothing to other servers', async (context) => {
    countAttempts(context, 3 * connections(0).length)
    const { tab, show } = await openViewer()
    const popups: string[] = []
    tab.on('popup', (popup) => popups.push(popup.url()))
    page.expectProblems(/./) // the browser reports what it has blocked
    const before = tab.url()
    for (const html of connections(trap.port)) {
      await show('html', `<p>content</p>${html}`)
      await use(tab)
    }
    for (const piece of connections(trap.port)) {
      await show('svg', `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${piece}</svg>`)
      await show('mermaid', `flowchart LR\n  A["${piece.replaceAll('"', "'")}"] --> B\n  click A "http://127.0.0.1:${trap.port}/click"`)
    }
    await show('mermaid', `%%{init: {"themeCSS": "*{background:url(http://127.0.0.1:${trap.port}/theme)}"}}%%\nflowchart LR\n A-->B`)
    await tab.waitForTimeout(500)
    expect(trap.requests).toEqual([])
    expect([tab.url(), popups]).toEqual([before, []])
  })
})

it('these tests would notice a viewer with weaker headers and a weaker sandbox', async () => {
  const tab = await page.open()
  page.expectProblems(/./)
  const own = await openTrap()
  await tab.route('**/page/viewer.*', async (route) => {
    const response = await route.fetch()
    const { 'content-security-policy': _policy, 'x-frame-options': _frames, ...headers } = response.headers()
    const body = (await response.text())
      .replace(/<meta[^>]*Content-Security-Policy[^>]*>/gi, '')
      .replace(/sandbox(?:="[^"]*")?/g, 'data-no-sandbox')
    await route.fulfill({ status: response.status(), headers, body })
  })
  const messages = await collectMessages(tab)
  await tab.evaluate(`const frame = document.createElement('iframe')
    frame.id = 'viewer'
    frame.src = 'page/viewer.html'
    document.body.append(frame)`)
  const states = async () => (await messages()).filter((message) => (message as { type?: string }).type === 'daybook.viewer')
  await expect.poll(states).toMatchObject([{ state: 'ready' }])
  const text = `<p>content</p><img src="http://127.0.0.1:${own.port}/img">`
  await tab.evaluate(
    `document.querySelector('#viewer').contentWindow.postMessage(${JSON.stringify({ type: 'daybook.show', id: 'a', kind: 'html', text })}, '*')`,
  )
  await expect.poll(() => own.requests.length).toBeGreaterThan(0)
  await own.close()
})

it('these tests would notice content that runs or connects', async () => {
  const tab = await page.open()
  page.expectProblems(/./)
  const own = await openTrap()
  const unprotected = [...scripts().slice(0, 4), ...connections(own.port).slice(0, 5)].join('')
  await tab.route('**/unprotected', (route) => route.fulfill({ contentType: 'text/html', body: unprotected }))
  const messages = await collectMessages(tab)
  await tab.evaluate("document.body.append(Object.assign(document.createElement('iframe'), { src: 'unprotected' }))")
  await expect.poll(messages).toContain('ran')
  await expect.poll(() => own.requests.length).toBeGreaterThan(0) // how many connections a browser opens depends on its load
  await own.close()
})
