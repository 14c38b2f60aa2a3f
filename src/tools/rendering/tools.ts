import { z } from 'zod'
import type { DocumentKind, DocumentRenderer, PictureOptions } from '../../ports/documents.ts'
import { defineTool } from '../define.ts'
import type { Tool } from '../tool.ts'
import { writeDocument } from './write-document.ts'

/** How long a call may take. Renderers have their own shorter limit, because their error message is more precise. */
const timeoutMs = 240_000

const where = 'where: files/<name>.'
const common = {
  order: 'hard',
  strategy: 'exploitation',
  repeatable: true,
  timeoutMs,
} as const

const citing = 'cite sources as [[S:n]]; local images and links by their physical path, such as turn_<id>/files/x.png'
const charts = 'a fenced block `chart bar|line|pie <title>` around a table draws a chart; a fenced block `mermaid` draws a diagram'

const pdfParams = z.object({
  path: z.string().describe(`${where}pdf`),
  content: z.string().describe('the document'),
  format: z.enum(['markdown', 'html', 'mermaid']).default('markdown').describe('the language of the content'),
  title: z.string().optional().describe('shown above the text if the text has no first heading'),
  include_sources_section: z.boolean().default(true).describe('end with a list of the cited sources'),
  landscape: z.boolean().default(false),
})

const docxParams = z.object({
  path: z.string().describe(`${where}docx`),
  content: z.string().describe('the document as Markdown'),
  title: z.string().optional().describe('shown above the text if the text has no first heading'),
  include_sources_section: z.boolean().default(true).describe('end with a list of the cited sources'),
})

const pptxParams = z.object({
  path: z.string().describe(`${where}pptx`),
  content: z.string().describe('the slides: one <section> per slide, or Markdown with a heading per slide'),
  title: z.string().optional().describe('for an opening slide, if there is none'),
  format: z.enum(['html', 'markdown']).default('html').describe('the language of the content'),
  include_sources_slide: z.boolean().default(false).describe('end with a slide of the cited sources'),
})

const options = z.record(z.string(), z.unknown())

const pngParams = z.object({
  path: z.string().describe(`${where}png`),
  content: z.string().describe('the picture: a diagram, or a page'),
  format: z.enum(['mermaid', 'html', 'markdown']).default('mermaid').describe('the language of the content'),
  title: z.string().optional(),
  base_dir: z.string().optional().describe('the folder of relative addresses in the content'),
  render_delay_ms: z.number().min(0).max(10_000).default(1_000).describe('how long scripts may run before the picture is taken'),
  fit: z.enum(['content', 'page']).default('content').describe('cut to what is visible, or show the page'),
  content_selector: z.string().optional().describe('CSS selector of the element to show'),
  padding_px: z.number().min(0).max(500).default(32),
  zoom: z.number().min(0.1).max(10).optional(),
  background: z.string().default('white').describe('CSS colour, or transparent'),
  full_page: z.boolean().default(true).describe('also show what is below the window'),
  width: z.number().int().min(16).max(8_000).default(3_000).describe('of the window, in pixels'),
  height: z.number().int().min(16).max(8_000).default(2_000),
  device_scale_factor: z.number().min(0.5).max(4).default(2),
  mermaid_theme: z.string().default('default'),
  mermaid_config: options.optional(),
  mermaid_theme_variables: options.optional(),
  mermaid_font_size_px: z.number().min(4).max(100).optional(),
  mermaid_font_family: z.string().optional(),
  mermaid_scale: z.number().min(0.1).max(10).optional(),
})

/** The tools that make documents, of the kinds that the renderer can make, in the order in which the system text lists them. */
export function createRenderingTools(renderer: DocumentRenderer): readonly Tool[] {
  const makers: { readonly [K in DocumentKind]: () => Tool } = {
    pdf: () =>
      defineTool({
        id: 'rendering_tools.write_pdf',
        description: 'Make a PDF from Markdown, HTML or a Mermaid diagram and hand it over as a file.',
        params: pdfParams,
        constraints: [citing, charts, 'no network: every image and style must be a local file'],
        ...common,
        run: ({ include_sources_section: listSources, ...rest }, call) =>
          writeDocument({ kind: 'pdf', listSources, ...rest }, renderer, call),
      }),
    png: () =>
      defineTool({
        id: 'rendering_tools.write_png',
        description: 'Draw a Mermaid diagram, a page of HTML or Markdown as a PNG image and hand it over as a file.',
        params: pngParams,
        constraints: ['no network: every image and style must be a local file', 'Mermaid source without fences'],
        ...common,
        run: (params, call) => {
          const { path, content, format, title } = params
          return writeDocument(
            { kind: 'png', path, content, format, title, listSources: false, picture: pictureOf(params) },
            renderer,
            call,
          )
        },
      }),
    docx: () =>
      defineTool({
        id: 'rendering_tools.write_docx',
        description: 'Make a Word document from Markdown and hand it over as a file. Citations become footnotes.',
        params: docxParams,
        constraints: [citing, charts],
        ...common,
        run: ({ include_sources_section: listSources, ...rest }, call) =>
          writeDocument({ kind: 'docx', format: 'markdown', listSources, ...rest }, renderer, call),
      }),
    pptx: () =>
      defineTool({
        id: 'rendering_tools.write_pptx',
        description: 'Make a presentation from HTML or Markdown and hand it over as a file.',
        params: pptxParams,
        constraints: [
          citing,
          '<table data-chart="bar|line|pie" data-title="…"> draws a chart; <aside class="notes"> has speaker notes; styles: colours, font sizes, flex rows as columns, class callout',
        ],
        ...common,
        run: ({ include_sources_slide: listSources, ...rest }, call) =>
          writeDocument({ kind: 'pptx', listSources, ...rest }, renderer, call),
      }),
  }
  return (['pdf', 'png', 'docx', 'pptx'] as const).filter((kind) => renderer.kinds.has(kind)).map((kind) => makers[kind]())
}

function pictureOf(params: z.output<typeof pngParams>): PictureOptions {
  const { base_dir, content_selector, zoom, mermaid_config, mermaid_theme_variables } = params
  const { mermaid_font_size_px, mermaid_font_family, mermaid_scale } = params
  return {
    ...(base_dir !== undefined && { baseFolder: base_dir }),
    delayMs: params.render_delay_ms,
    fit: params.fit,
    ...(content_selector !== undefined && { selector: content_selector }),
    padding: params.padding_px,
    ...(zoom !== undefined && { zoom }),
    background: params.background,
    fullPage: params.full_page,
    width: params.width,
    height: params.height,
    scale: params.device_scale_factor,
    mermaid: {
      theme: params.mermaid_theme,
      ...(mermaid_config !== undefined && { config: mermaid_config }),
      ...(mermaid_theme_variables !== undefined && { themeVariables: mermaid_theme_variables }),
      ...(mermaid_font_size_px !== undefined && { fontSize: mermaid_font_size_px }),
      ...(mermaid_font_family !== undefined && { fontFamily: mermaid_font_family }),
      ...(mermaid_scale !== undefined && { scale: mermaid_scale }),
    },
  }
}
