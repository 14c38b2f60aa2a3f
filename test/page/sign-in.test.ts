import { SignJWT } from 'jose'
import { expect, it } from 'vitest'
import { reply } from '../../src/testing/scripted-model.ts'
import { usePage } from '../support/page/page-fixture.ts'

const secret = 'a secret that is long enough for HS256'
const page = usePage({ server: { auth: { kind: 'bearer', key: { kind: 'HS256', secret } } } })

it('the link that the server prints signs in once, and the code leaves the address', async () => {
  page.expectProblems(/401/) // the first request shows that the server asks for a token
  page.say(reply.answer('Hello, you.'))
  const link = page.server.server.signInLink() ?? ''
  const tab = await page.open(link.slice(page.url.length))
  await tab.getByRole('textbox', { name: 'Message' }).waitFor()
  await expect.poll(() => tab.url()).toBe(`${page.url}/`) // the browser reports a changed address a little later
  await tab.getByRole('textbox', { name: 'Message' }).fill('Hello')
  await tab.keyboard.press('Enter')
  await tab.getByText('Hello, you.').waitFor()
  await tab.reload()
  await tab.getByText('Hello, you.').waitFor()
  const again = await page.open(link.slice(page.url.length))
  await again.getByText('This link was used before').waitFor()
  await expect.poll(() => again.url()).toBe(`${page.url}/`)
})

it('a token can be pasted, and a wrong one is refused with a sentence', async () => {
  page.expectProblems(/401/)
  const tab = await page.open()
  await tab.getByLabel('Token').fill('wrong')
  await tab.getByRole('button', { name: 'Sign in' }).click()
  await tab.getByText('The server does not accept this token.').waitFor()
  const token = await new SignJWT({ tenant: 'acme', project: 'web', sub: 'ann' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret))
  await tab.getByLabel('Token').fill(token)
  await tab.getByRole('button', { name: 'Sign in' }).click()
  await tab.getByRole('textbox', { name: 'Message' }).waitFor()
})

it('without a token, the page has its files and no data', async () => {
  for (const path of ['/', '/settings', '/c/any', '/page/viewer.html', '/page/viewer.js'])
    expect((await fetch(page.url + path)).status).toBe(200)
  for (const path of ['/v1/conversations', '/v1/info', '/v1/doctor', '/v1/waiting', '/v1/resources/x', '/v1/conversations/any/events'])
    expect((await fetch(page.url + path)).status).toBe(401)
})
