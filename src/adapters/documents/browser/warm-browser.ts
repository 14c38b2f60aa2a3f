import { tmpdir } from 'node:os'
import type { Browser } from 'playwright-core'
import { loadPackage, unrenderable } from '../structure/packages.ts'

/** A browser that is started when it is needed, and ends after some time without work. */
export interface WarmBrowser {
  /** The running browser. Starts it if necessary. */
  get(): Promise<Browser>
  /** Tells this object that the browser has no work. If `get` is not called for `idleMs`, the browser is ended. */
  rest(): void
  /** Ends the browser with everything that runs in it. The next `get` starts another one. */
  end(): Promise<void>
  /** Ends the browser. A later `get` fails. */
  close(): Promise<void>
}

const flags = [
  ...[
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
  // All requests are answered by `virtual-origin.ts`. Some connections, such as those of `preconnect` and WebRTC, bypass that code. These
  // flags stop them: names are not resolved, and every connection goes to a proxy address where no program listens.
  ...['--host-resolver-rules=MAP * ~NOTFOUND', '--proxy-server=http://0.0.0.0:1', '--proxy-bypass-list=<-loopback>'],
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  // With these flags, pictures are the same on every machine with the same fonts.
  ...['--font-render-hinting=none', '--disable-lcd-text', '--force-color-profile=srgb', '--hide-scrollbars'],
  '--js-flags=--max-old-space-size=512',
  ...['--disable-dev-shm-usage', '--mute-audio', '--disable-extensions'],
]

/** How long a browser may take to end before its processes are killed. */
const endMs = 5_000

/**
 * The operating system isolates the pages of the browser from the machine, except when this process runs as root: Chromium refuses to start
 * as root without `--no-sandbox`.
 */
export function createWarmBrowser(executable: string, { idleMs }: { readonly idleMs: number }): WarmBrowser {
  const isRoot = process.getuid?.() === 0
  let starting: Promise<Browser> | undefined
  let closed = false
  let idleTimer: NodeJS.Timeout | undefined
  /** The process id of each browser, to kill a browser that does not end when it is closed. */
  const pids = new WeakMap<Browser, number>()

  async function start(): Promise<Browser> {
    const { chromium } = await loadPackage('playwright-core', () => import('playwright-core'))
    const environment = { PATH: process.env.PATH ?? '', HOME: tmpdir(), LANG: 'C.UTF-8', TZ: 'UTC' }
    try {
      const browser = await chromium.launch({
        executablePath: executable,
        chromiumSandbox: !isRoot,
        args: flags,
        env: environment, // without the keys and other secrets of this process
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false,
        timeout: 30_000,
      })
      const main = (await processesOf(browser)).find(({ type }) => type === 'browser')
      if (main) pids.set(browser, main.pid)
      return browser
    } catch (error) {
      const advice = isRoot ? '' : ' If the system does not allow the sandbox of the browser, enable unprivileged user namespaces.'
      throw unrenderable('unavailable', `the browser ${executable.split('/').at(-1)} could not be started.${advice}`, error)
    }
  }

  async function end(): Promise<void> {
    clearTimeout(idleTimer)
    const ending = starting
    starting = undefined
    const browser = await ending?.catch(() => undefined) // if the browser failed to start, there is nothing to end
    if (!browser) return
    const pid = pids.get(browser)
    const late = delay(endMs)
    // `-pid`: the browser and its pages are one process group
    await Promise.race([browser.close(), late.over.then(() => pid !== undefined && kill(-pid))])
    late.cancel()
  }

  return {
    async get() {
      clearTimeout(idleTimer)
      const running = await starting?.catch(() => undefined)
      if (closed) throw unrenderable('unavailable', 'the renderer is closed')
      if (!running?.isConnected()) {
        starting = start()
        starting.catch(() => {
          starting = undefined // the next request tries again
        })
      }
      return starting as Promise<Browser>
    },
    rest() {
      clearTimeout(idleTimer)
      idleTimer = setTimeout(() => void end(), idleMs)
      idleTimer.unref()
    },
    end,
    close() {
      closed = true
      return end()
    },
  }
}

/** A process of a browser. `type` is `browser`, `renderer`, `GPU` or another name. */
export interface BrowserProcess {
  readonly pid: number
  readonly type: string
}

/** How long a browser may take to list its processes. */
const listMs = 2_000

/** The processes of a browser. The list is empty when the browser has ended or does not answer in time. */
export async function processesOf(browser: Browser): Promise<readonly BrowserProcess[]> {
  const late = delay(listMs)
  try {
    return await Promise.race([listProcesses(browser), late.over.then(() => [])])
  } finally {
    late.cancel()
  }
}

async function listProcesses(browser: Browser): Promise<readonly BrowserProcess[]> {
  try {
    const session = await browser.newBrowserCDPSession()
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    await session.detach()
    return processInfo.map(({ id, type }) => ({ pid: id, type }))
  } catch {
    return [] // the browser has ended
  }
}

/** A promise that resolves after some time, unless it is cancelled. */
function delay(ms: number): { readonly over: Promise<void>; cancel(): void } {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  return { over, cancel: () => clearTimeout(timer) }
}

/** Kills a process that may have ended already. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
