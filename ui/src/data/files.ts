import { client } from './session.ts'

/** Downloads a file and hands it to the browser. It is fetched as a blob, because a link can not send the token. */
export async function saveFile(rn: string, filename: string): Promise<void> {
  const url = URL.createObjectURL(await client.resource(rn))
  const link = Object.assign(document.createElement('a'), { href: url, download: filename })
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
