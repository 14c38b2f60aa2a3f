import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Page } from 'playwright-core'

/**
 * A server that only records connections. Hostile content refers to its address, so each connection means that the content could send
 * something out of the page.
 */
export interface Trap {
  readonly port: number
  /** The beginning of each request. A connection without a request, such as a preconnect, is an empty text. */
  readonly requests: readonly string[]
  close(): Promise<void>
}

export async function openTrap(): Promise<Trap> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    const at = requests.push('') - 1
    socket.on('data', (bytes) => {
      requests[at] += bytes.toString('latin1').slice(0, 200)
      socket.end('HTTP/1.1 200 OK\r\naccess-control-allow-origin: *\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
    })
    socket.on('error', () => {}) // the browser may close the connection early
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    close() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/**
 * Pieces of HTML that try to run a script. Each script sends the message `ran` to every window that it can access, so that the tab gets it.
 */
export function scripts(): readonly string[] {
  const run = `for(let w=window;;w=w.parent){try{w.postMessage('ran','*')}catch{};if(w===w.parent)break}`
  const inAttribute = run.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  const asData = `data:text/html,<script>${encodeURIComponent(run)}</script>`
  return [
    `<script>${run}</script>`,
    `<script src="data:text/javascript,${encodeURIComponent(run)}"></script>`,
    `<img src="x" onerror="${inAttribute}">`,
    `<svg onload="${inAttribute}"></svg>`,
    `<svg><script>${run}</script></svg>`,
    `<svg><animate onbegin="${inAttribute}" attributeName="x" dur="1s"/></svg>`,
    `<svg><use href="data:image/svg+xml,<svg id='x' xmlns='http://www.w3.org/2000/svg' onload='${encodeURIComponent(run)}'/>#x"/></svg>`,
    `<body onload="${inAttribute}">`,
    `<details open ontoggle="${inAttribute}">x</details>`,
    `<input autofocus onfocus="${inAttribute}">`,
    `<video><source onerror="${inAttribute}"></video>`,
    `<a id="go" href="javascript:${inAttribute}">a link</a>`,
    `<a href=" java&#10;script:${inAttribute}">a link</a>`,
    `<form action="javascript:${inAttribute}"><button id="press">press</button></form>`,
    `<iframe src="javascript:${inAttribute}"></iframe>`,
    `<iframe srcdoc="&lt;script&gt;${inAttribute}&lt;/script&gt;"></iframe>`,
    `<iframe src="${asData}"></iframe>`,
    `<object data="${asData}"></object>`,
    `<embed src="${asData}">`,
    `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${inAttribute}&gt;">`,
    `<template shadowrootmode="open"><script>${run}</script></template>`,
    `<style>*{behavior:url(#x);-moz-binding:url(#x)} @keyframes a{} body{animation:a 1s}</style><body onanimationstart="${inAttribute}">`,
    `<meta http-equiv="refresh" content="0;url=javascript:${inAttribute}">`,
    `<noscript><p title="</noscript><img src=x onerror=${inAttribute}>"></noscript>`,
  ]
}

/** Pieces of HTML that try to connect to the trap, without a script. */
export function connections(port: number): readonly string[] {
  const to = (name: string) => `http://127.0.0.1:${port}/${name}`
  return [
    `<img src="${to('img')}">`,
    `<img srcset="${to('srcset')} 1x">`,
    `<picture><source srcset="${to('picture')}"><img></picture>`,
    `<link rel="stylesheet" href="${to('stylesheet')}">`,
    `<link rel="preconnect" href="${to('preconnect')}">`,
    `<link rel="dns-prefetch" href="${to('dns')}">`,
    `<link rel="prefetch" href="${to('prefetch')}"><link rel="preload" as="image" href="${to('preload')}">`,
    `<link rel="modulepreload" href="${to('modulepreload')}"><link rel="icon" href="${to('icon')}">`,
    `<link rel="manifest" href="${to('manifest')}">`,
    `<meta http-equiv="refresh" content="0;url=${to('refresh')}">`,
    `<base href="${to('base')}"><img src="relative">`,
    `<style>@import '${to('import')}'; @font-face{font-family:x;src:url(${to('font')})} body{background:url("${to('background')}");font-family:x}</style>x`,
    `<div style="background:image-set('${to('image-set')}' 1x);list-style:url(${to('list')});cursor:url(${to('cursor')}),auto">x</div>`,
    `<p style="\\62 ackground:u\\72l(${to('escaped')})">x</p>`,
    `<video src="${to('video')}" poster="${to('poster')}" autoplay></video><audio src="${to('audio')}" autoplay></audio>`,
    `<video><track default src="${to('track')}"></video>`,
    `<iframe src="${to('iframe')}"></iframe><frameset><frame src="${to('frame')}"></frameset>`,
    `<object data="${to('object')}"></object><embed src="${to('embed')}">`,
    `<svg><image href="${to('svg-image')}"/><use href="${to('svg-use')}#a"/><filter id="f"><feImage href="${to('feimage')}"/></filter></svg>`,
    `<form action="${to('form')}" method="post"><input name="a" value="b"><button id="press">press</button></form>`,
    `<a id="go" href="${to('link')}" ping="${to('ping')}" target="_top">a link</a>`,
    `<a href="${to('blank')}" target="_blank">another link</a>`,
    `<body background="${to('body')}"><table background="${to('table')}"><tr><td>x</table>`,
    `<script type="speculationrules">{"prefetch":[{"source":"list","urls":["${to('speculation')}"]}]}</script>`,
    `<blockquote cite="${to('cite')}">x</blockquote><input type="image" src="${to('input')}">`,
  ]
}

/** Collects the messages that reach the tab. */
export async function collectMessages(tab: Page): Promise<() => Promise<readonly unknown[]>> {
  await tab.evaluate("window.messages = []; addEventListener('message', ({ data }) => messages.push(data))")
  return () => tab.evaluate<readonly unknown[]>('messages')
}
