import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Packs a built checkout as npm does, and unpacks it into `folder` beside the programs of the bench. So the programs import the package as
 * its users do. The packages that Daybook depends on come from the `node_modules` of the checkout.
 */
export function installPackage(checkout: string, folder: string): void {
  checkBuilt(checkout)
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, 'daybook'), { recursive: true })
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const [{ filename }] = JSON.parse(execFileSync('npm', pack, { cwd: checkout, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', join(modules, 'daybook'), '--strip-components=1'])
  for (const name of readdirSync(join(checkout, 'node_modules'))) {
    if (name !== 'daybook') symlinkSync(join(checkout, 'node_modules', name), join(modules, name))
  }
  cpSync(join(import.meta.dirname, 'programs'), folder, { recursive: true })
}

/** Throws if the checkout is not built, or has changed since it was built. */
function checkBuilt(checkout: string): void {
  const built = join(checkout, 'dist/index.js')
  const source = join(checkout, 'src')
  const changedAt = Math.max(
    ...readdirSync(source, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => statSync(join(source, file)).mtimeMs),
  )
  if (!existsSync(built) || statSync(built).mtimeMs < changedAt) throw new Error(`${checkout} is not built: npm run build`)
}
