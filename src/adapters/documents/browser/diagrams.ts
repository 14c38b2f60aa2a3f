import type { Page } from 'playwright-core'
import type { MermaidOptions } from '../../../ports/documents.ts'
import { mermaidAddress } from './bundled-files.ts'
import { textFonts } from './print-style.ts'

/** Why a diagram could not be drawn. `name` is the class of the error. */
export interface DiagramError {
  readonly name: string
  readonly message: string
}

/** Draws all diagrams of a page. A diagram with an error stays as text. */
export async function drawDiagrams(page: Page, options: MermaidOptions, paused: boolean): Promise<readonly DiagramError[]> {
  if (paused) await page.clock.resume() // the script of the diagrams waits for timers
  // The script is added after the page has loaded. Otherwise it would draw all diagrams while the page loads, without our configuration.
  await page.addScriptTag({ url: mermaidAddress }).catch(() => undefined) // `drawAll` reports a missing script
  const { theme = 'default', config, themeVariables, fontSize, fontFamily } = options
  const configuration = {
    look: 'classic', // without shadows, which would become pixels in a PDF
    ...config,
    startOnLoad: false,
    securityLevel: 'strict',
    deterministicIds: true,
    deterministicIDSeed: 'daybook',
    theme,
    fontFamily: fontFamily ?? textFonts,
    themeVariables: {
      fontFamily: fontFamily ?? textFonts,
      ...(fontSize !== undefined && { fontSize: `${fontSize}px` }),
      ...themeVariables,
    },
    ...(fontSize !== undefined && { fontSize }),
    suppressErrorRendering: true,
  }
  return page.evaluate(drawAll, { configuration: JSON.stringify(configuration), scale: options.scale ?? 1 })
}

interface DrawnElement {
  textContent: string | null
  innerHTML: string
  setAttribute(name: string, value: string): void
  querySelector(selector: string): SvgElement | null
}
interface SvgElement {
  readonly viewBox: { readonly baseVal: { readonly width: number; readonly height: number } }
  readonly style: Record<string, string>
  setAttribute(name: string, value: string): void
}
interface PageScope {
  readonly document: { querySelectorAll(selector: string): Iterable<DrawnElement> }
  readonly mermaid?: {
    initialize(configuration: object): void
    render(id: string, source: string): Promise<{ readonly svg: string }>
  }
}

/** Runs in the page. */
async function drawAll({ configuration, scale }: { configuration: string; scale: number }): Promise<DiagramError[]> {
  const { document, mermaid } = globalThis as unknown as PageScope
  if (!mermaid) return [{ name: 'MermaidMissing', message: 'the package @mermaid-js/tiny, which draws diagrams, is not installed' }]
  mermaid.initialize(JSON.parse(configuration))
  const errors: DiagramError[] = []
  let number = 0
  for (const element of document.querySelectorAll('pre.mermaid, pre > code.language-mermaid')) {
    number++
    try {
      const { svg } = await mermaid.render(`diagram-${number}`, (element.textContent ?? '').trim())
      element.innerHTML = svg
      element.setAttribute('data-drawn', '')
      const drawn = element.querySelector('svg')
      if (drawn) {
        const { width, height } = drawn.viewBox.baseVal
        drawn.setAttribute('width', `${width * scale}`)
        drawn.setAttribute('height', `${height * scale}`)
        drawn.style.maxWidth = scale === 1 ? '100%' : 'none'
      }
    } catch (error) {
      const { name, message } = error as Error
      errors.push({ name: name || 'Error', message: String(message).slice(0, 2_000) })
    }
  }
  return errors
}
