import { execFileSync } from 'node:child_process'

export interface PackedFile {
  readonly path: string
  readonly size: number
}

/** What npm packs. The sizes are in bytes. */
export interface PackedPackage {
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly PackedFile[]
}

/** Lists the files of a tarball. Without a tarball, it lists the files of this checkout that npm would pack now, without building. */
export function listPacked(tarball = '.', attempts = 10): PackedPackage {
  try {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts', tarball]
    const [packed] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8', stdio: 'pipe' })) as [PackedPackage] // npm lists one package
    return packed
  } catch (error) {
    if (attempts === 1) throw error
    return listPacked(tarball, attempts - 1) // another test may build the package meanwhile, which replaces the files in `dist`
  }
}

/** The tests and their data among the files of the package. Tests in `examples` show how to write a test, so they are not in this list. */
export const testsAmong = (paths: readonly string[]): readonly string[] =>
  paths.filter((path) => !path.startsWith('examples/') && testFile.test(path))

/** The files that are only needed to change, build or publish Daybook. `examples` has projects with files of the same names. */
export const developmentFilesAmong = (paths: readonly string[]): readonly string[] =>
  paths.filter((path) => otherFolder.test(path) || (!path.startsWith('examples/') && developmentFile.test(path)))

const testFile = /\.(?:test|spec|bench)\.[^/]+$|(?:^|\/)(?:test|tests|__tests__|__snapshots__|fixtures|golden)\//
const otherFolder = /^(?:\.|bench\/|scripts\/|site\/|test\/|ui\/(?!dist\/))|(?:^|\/)(?:node_modules\/|\.env|\.npmrc|\.git)|\.(?:tgz|log)$/
const developmentFile =
  /(?:^|\/)(?:tsconfig[^/]*\.json|biome\.json|vite(?:st)?\.config\.ts|package-lock\.json|built-from\.json|[^/]*\.tsbuildinfo)$/
