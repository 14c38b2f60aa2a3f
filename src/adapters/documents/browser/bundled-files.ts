import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

/** A file of a package that documents may use. */
export interface BundledFile {
  readonly file: string
  readonly mime: string
}

/** The folder of the bundled files in the addresses of a document. No folder of a turn has this name. */
const folder = '.daybook/'

const fontFolders = { sans: '@fontsource-variable/source-sans-3', mono: '@fontsource-variable/source-code-pro' } as const
const scripts = ['latin', 'latin-ext', 'cyrillic', 'greek', 'vietnamese'] as const

/** The ranges of characters of each font file, so that only the needed files are loaded. */
const ranges: { readonly [S in (typeof scripts)[number]]: string } = {
  latin:
    'U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+0304,U+0308,U+0329,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215,U+FEFF,U+FFFD',
  'latin-ext':
    'U+0100-02BA,U+02BD-02C5,U+02C7-02CC,U+02CE-02D7,U+02DD-02FF,U+1D00-1DBF,U+1E00-1E9F,U+1EF2-1EFF,U+20A0-20AB,U+20AD-20C0,U+2113,U+2C60-2C7F,U+A720-A7FF',
  cyrillic: 'U+0301,U+0400-045F,U+0490-0491,U+04B0-04B1,U+2116',
  greek: 'U+0370-0377,U+037A-037F,U+0384-038A,U+038C,U+038E-03A1,U+03A3-03FF',
  vietnamese:
    'U+0102-0103,U+0110-0111,U+0128-0129,U+0168-0169,U+01A0-01A1,U+01AF-01B0,U+0300-0301,U+0303-0304,U+0308-0309,U+0323,U+0329,U+1EA0-1EF9,U+20AB',
}

/** The styles that make the bundled fonts available as `Source Sans 3` and `Source Code Pro`. */
export const fontFaces: string = (['sans', 'mono'] as const)
  .flatMap((family) =>
    scripts.flatMap((script) =>
      (['normal', 'italic'] as const).map(
        (style) =>
          `@font-face{font-family:'${family === 'sans' ? 'Source Sans 3' : 'Source Code Pro'}';font-style:${style};font-weight:200 900;src:url(/${folder}${family}-${script}-${style}.woff2) format('woff2');unicode-range:${ranges[script]}}`,
      ),
    ),
  )
  .join('\n')

/** The address of the script that draws diagrams. */
export const mermaidAddress = `/${folder}mermaid.js`

/** The bundled file at a path of the document. Undefined when no bundled file has this path, or its package is not installed. */
export function findBundled(path: string): BundledFile | undefined {
  if (!path.startsWith(folder)) return undefined
  const name = path.slice(folder.length)
  if (name === 'mermaid.js') return mermaidFile()
  const [, family, script, style] = /^(sans|mono)-([a-z-]{1,20})-(normal|italic)\.woff2$/.exec(name) ?? []
  if (family === undefined || !scripts.some((known) => known === script)) return undefined
  const root = packageFolder(fontFolders[family as 'sans' | 'mono'])
  const base = family === 'sans' ? 'source-sans-3' : 'source-code-pro'
  return root === undefined ? undefined : { file: join(root, 'files', `${base}-${script}-wght-${style}.woff2`), mime: 'font/woff2' }
}

/**
 * The script that draws diagrams. The package `mermaid` draws more kinds of diagrams than `@mermaid-js/tiny`, and is used if the
 * application has installed it.
 */
function mermaidFile(): BundledFile | undefined {
  const whole = packageFolder('mermaid')
  const tiny = packageFolder('@mermaid-js/tiny')
  if (whole !== undefined) return { file: join(whole, 'dist', 'mermaid.min.js'), mime: 'text/javascript' }
  return tiny === undefined ? undefined : { file: join(tiny, 'dist', 'mermaid.tiny.js'), mime: 'text/javascript' }
}

/** The folder of an installed package. Undefined when it is not installed. */
function packageFolder(name: string): string | undefined {
  try {
    const file = findPackageJSON(name, import.meta.url)
    return file === undefined ? undefined : dirname(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}
