import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'

it('npm start in a checkout prints an address, and the address responds', async () => {
  const data = mkdtempSync(join(tmpdir(), 'daybook-start-'))
  const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`, DAYBOOK_DATA: data, DAYBOOK_PORT: '0' }
  // with a process group of its own, so that npm and its child can be killed together
  const npm = spawn('npm', ['start'], { env, stdio: ['ignore', 'pipe', 'ignore'], detached: true })
  const ended = new Promise((resolve) => npm.once('close', resolve))
  try {
    let url: string | undefined
    for await (const line of createInterface({ input: npm.stdout })) {
      url = /^daybook is at (http:\S+)$/.exec(line)?.[1]
      if (url !== undefined) break
    }
    expect(await (await fetch(`${url}/`)).text()).toContain('<title>Daybook</title>')
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok' })
  } finally {
    if (npm.pid !== undefined) process.kill(-npm.pid, 'SIGTERM')
    await ended
    rmSync(data, { recursive: true, force: true })
  }
}, 60_000)
