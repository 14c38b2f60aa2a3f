// Copies the pages of the repository into this folder. VitePress resolves the packages of a page from the folder of the page.

import { cpSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const from = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url))
const to = (name) => fileURLToPath(new URL(`pages/${name}`, import.meta.url))

rmSync(to(''), { recursive: true, force: true })
for (const name of ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'WORDS.md', 'docs']) {
  cpSync(from(name), to(name), { recursive: true })
}
