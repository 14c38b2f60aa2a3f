import { createSocket } from 'node:dgram'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultPicture } from '../../src/adapters/documents/browser/png.ts'
import { createDocumentRenderer } from '../../src/adapters/documents/renderer.ts'
import { hasBrowser, poppler, renderWith } from './render.ts'

const renderer = createDocumentRenderer()
const impatient = createDocumentRenderer({ limits: { timeoutMs: 3_000, maxMemoryBytes: 500 * 1024 * 1024 } })
afterAll(() => Promise.all([renderer.close(), impatient.close()]))
const hasty = renderWith(impatient)

const secret = 'a-secret-of-this-process'
process.env.SAMPLE_SECRET = secret

const asked: string[] = []
const render = renderWith({
  ...renderer,
  render: (request) =>
    renderer.render({
      ...request,
      sources: [],
      readAsset: async (path) => {
        asked.push(path)
        return path === 'turn_1/files/a.txt' ? Buffer.from('our own text') : undefined
      },
    }),
})
const pdf = (content: string) => render({ kind: 'pdf', format: 'html', content })
const textOf = async (content: string) => poppler('pdftotext', (await pdf(content)).bytes)

/** How a render that must be refused ends: the reason of its failure. */
const reasonOf = (content: string, kind: 'pdf' | 'png' = 'pdf', by = render) =>
  by({ kind, format: 'html', content, picture: { ...defaultPicture, delayMs: 0 } }).then(
    () => 'made',
    (error: { details?: { reason?: string } }) => error.details?.reason ?? String(error),
  )

describe.skipIf(!hasBrowser)('a hostile document', () => {
  /** Servers on this machine. No document may reach them. */
  let contacts = 0
  const tcp = createServer((socket) => {
    contacts++
    socket.destroy()
  })
  const udp = createSocket('udp4')
  let [tcpPort, udpPort] = [0, 0]
  beforeAll(async () => {
    await new Promise<void>((resolve) => void tcp.listen(0, '127.0.0.1', resolve))
    await new Promise<void>((resolve) => void udp.bind(0, '127.0.0.1', resolve))
    udp.on('message', () => void contacts++)
    tcpPort = (tcp.address() as { port: number }).port
    udpPort = udp.address().port
  })
  afterAll(() => {
    tcp.close()
    udp.close()
  })

  it('reaches no address, in whatever way it tries', async () => {
    const host = `127.0.0.1:${tcpPort}`
    const content = `<html><head>
      <link rel=preconnect href="http://${host}"><link rel=dns-prefetch href="//${host}"><link rel=prefetch href="http://${host}/p"><link rel=preload as=font href="http://${host}/f">
      <link rel=stylesheet href="http://${host}/s.css"><style>@import url(http://${host}/i.css);@font-face{font-family:X;src:url(http://${host}/x.woff)}body{font-family:X;background:url(http://localhost:${tcpPort}/b)}</style>
      <script src="http://${host}/s.js"></script><base target=_blank></head><body>still here
      <img src="http://${host}/a.png"><img src="http://[::1]:${tcpPort}/a.png"><iframe src="http://${host}/f.html"></iframe><object data="http://${host}/o"></object><embed src="http://${host}/e">
      <video src="http://${host}/v"></video><audio src="http://${host}/v" autoplay></audio><svg><image href="http://${host}/i.svg"/></svg><form id=f action="http://${host}/form" method=post></form>
      <script>
        const tries = [
          () => fetch('http://${host}/x', { mode: 'no-cors' }), () => fetch('https://${host}/x', { method: 'POST', body: 'x', keepalive: true }),
          () => new WebSocket('ws://${host}/ws'), () => navigator.sendBeacon('http://${host}/beacon', 'x'), () => new Worker('http://${host}/w.js'),
          () => new EventSource('http://${host}/es'), () => new Image().src = 'http://${host}/img', () => import('http://${host}/m.js'),
          () => navigator.serviceWorker.register('/sw.js'), () => window.open('http://${host}/open'), () => document.getElementById('f').submit(),
          () => { const c = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${udpPort}' }, { urls: 'turn:${host}?transport=tcp', username: 'a', credential: 'b' }] }); c.createDataChannel('x'); return c.createOffer().then((o) => c.setLocalDescription(o)) },
          () => new WebTransport('https://${host}/wt').ready,
          () => { const f = document.createElement('iframe'); f.srcdoc = '<img src="http://${host}/srcdoc"><script>fetch("http://${host}/inner")<' + '/script>'; document.body.append(f) },
          () => { const w = new Worker(URL.createObjectURL(new Blob(['fetch("http://${host}/blob").catch(() => 0); new WebSocket("ws://${host}/wws")']))) },
          () => { location.href = 'http://${host}/go' }, () => { document.body.append(Object.assign(document.createElement('meta'), { httpEquiv: 'refresh', content: '0;url=http://${host}/meta' })) },
        ]
        const refusals = []
        for (const attempt of tries) { try { Promise.resolve(attempt()).catch((error) => refusals.push(error)) } catch (error) { refusals.push(error) } }
      </script></body></html>`
    const { bytes, remarks } = await pdf(content)
    expect(poppler('pdftotext', bytes)).toContain('still here')
    expect(remarks.join()).toContain(host)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(contacts).toBe(0)
  })

  it('reads no file outside of the folders of the conversation', async () => {
    asked.length = 0
    const content = `<body><iframe src="file:///etc/passwd"></iframe><object data="file:///etc/passwd"></object><img src="file:///etc/hostname"><iframe src="/etc/passwd"></iframe><iframe src="../../../../etc/passwd"></iframe>
      <iframe src="view-source:file:///etc/passwd"></iframe><iframe src="chrome://version"></iframe><link rel=stylesheet href="file:///etc/passwd"><div id=d></div>
      <script>const x = []
        for (const a of ['file:///etc/passwd', '/etc/passwd', '/turn_1/files/a.txt', '/..%2f..%2fetc/passwd', '//etc/passwd']) {
          const r = new XMLHttpRequest(); try { r.open('GET', a, false); r.send(); x.push(r.status + r.responseText) } catch (e) { x.push('no') } }
        d.textContent = x.join('|')</script></body>`
    const text = await textOf(content)
    expect(text).toContain('our own text')
    expect(text).not.toContain('root:')
    expect(asked.filter((path) => path.includes('..') && !path.startsWith('..'))).toEqual([])
  })

  it('does not see the environment or secrets of this process', () => {
    const browsers = readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid))
      .flatMap((pid) => {
        try {
          const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
          return command.includes('MAP * ~NOTFOUND') && readFileSync(`/proc/${pid}/stat`, 'utf8').includes(` ${process.pid} `)
            ? [readFileSync(`/proc/${pid}/environ`, 'utf8')]
            : []
        } catch {
          return [] // the process has ended
        }
      })
    for (const environment of browsers) expect(environment).not.toContain(secret)
  })

  it('that prints, alerts and asks again and again is still made', async () => {
    const content =
      '<p>quiet</p><script>for (let i = 0; i < 50; i++) { window.print(); alert(i); confirm(i); prompt(i) } onbeforeunload = () => "stay"; setInterval(() => window.print(), 1)</script>'
    expect(await textOf(content)).toContain('quiet')
  })

  it('with endless animations and timers is still made', async () => {
    const content = `<style>@keyframes k { to { transform: rotate(360deg) } } p { animation: k 1s infinite }</style><p>moving</p><marquee>m</marquee>
      <script>(function f() { requestAnimationFrame(f) })(); (function g() { setTimeout(g, 0) })(); setInterval(() => document.title += 'x', 5)</script>`
    expect(await textOf(content)).toContain('moving')
    const [first, second] = [await pdf(content), await pdf(content)]
    expect(Buffer.from(second.bytes).equals(first.bytes)).toBe(true)
  })

  it.each([
    ['a script that never ends', '<script>onload = () => { for (;;) {} }</script>', ['timeout']],
    ['promises that never end', '<script>(function f() { Promise.resolve().then(f) })()</script>', ['timeout']],
    [
      'a gigabyte of text',
      '<script>const t = "lorem ipsum ".repeat(1e6); for (let i = 0; i < 90; i++) document.write("<p>" + t)</script>',
      ['memory', 'timeout', 'failed'],
    ],
    [
      'an array that grows for ever',
      '<script>const a = []; for (;;) a.push(new Array(1e5).fill(Math.random()))</script>',
      ['memory', 'timeout', 'failed'],
    ],
    [
      'huge canvases',
      '<script>for (let i = 0; i < 60; i++) { const c = document.createElement("canvas"); c.width = c.height = 8000; c.getContext("2d").fillRect(0, 0, 8000, 8000); document.documentElement.append(c) }</script>',
      ['memory', 'timeout', 'failed', 'made'],
    ],
  ])('with %s ends soon with a clear result', async (_, content, results) => {
    expect(results).toContain(await reasonOf(content, 'pdf', hasty))
  })

  it('that is too large for a picture is refused', async () => {
    expect(await reasonOf('<div style="height:1000000px;width:50px;background:red">x</div>', 'png')).toBe('too_large')
  })

  it('does not see what another document has stored', async () => {
    await pdf('<script>localStorage.a = "secret"; document.cookie = "a=secret"; indexedDB.open("a")</script>x')
    expect(
      await textOf('<p id=p></p><script>p.textContent = "found:" + (localStorage.a ?? "") + document.cookie + "."</script>'),
    ).toContain('found:.')
  })

  it('can be cancelled', async () => {
    const controller = new AbortController()
    const running = render({ kind: 'pdf', format: 'html', content: '<script>for (;;) {}</script>', signal: controller.signal })
    setTimeout(() => controller.abort(), 300)
    await expect(running).rejects.toMatchObject({ details: { reason: 'cancelled' } })
    expect(await textOf('<p>well</p>')).toContain('well')
  })
})
