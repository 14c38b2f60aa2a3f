import type PptxGenJS from 'pptxgenjs'
import { linkAddress, type NumberedSource, type SourceNumbers } from '../structure/citations.ts'
import { type DocumentBlock, type Inline, isRightToLeft, type Look, plainText } from '../structure/document.ts'

type TextProps = PptxGenJS.default.TextProps
type RunOptions = NonNullable<TextProps['options']>

/** How text on a slide looks. */
export interface TextSetting {
  /** In points. */
  readonly size: number
  readonly colour: string
  readonly citations: SourceNumbers
  /** Called for each source that the text cites. */
  onCite(source: NumberedSource): void
}

export const codeFont = 'Consolas'

/** The runs of one paragraph. The options of the paragraph are at the first run, and the last run ends the line. */
export function paragraphRuns(content: readonly Inline[], look: Look, options: RunOptions, setting: TextSetting): readonly TextProps[] {
  const rtl = look.direction === 'rtl' || (look.direction === undefined && isRightToLeft(plainText(content)))
  const align = look.align ?? (rtl ? 'right' : undefined)
  const { bold, italic, ...paragraph } = options
  const common: RunOptions = { ...(bold && { bold }), ...(italic && { italic }), ...(align !== undefined && { align }) }
  const runs: TextProps[] = []
  let breaks = false
  for (const part of content) {
    // A line break is an option of the run after it. A separate run for the line break would begin a new paragraph.
    if (part.kind === 'break') breaks = true
    else
      for (const run of partRuns(part, look, common, setting)) {
        runs.push(breaks ? { ...run, options: { ...run.options, softBreakBefore: true } } : run)
        breaks = false
      }
  }
  const [first = { text: '', options: common }, ...rest] = runs
  const all = [{ ...first, options: { ...first.options, ...paragraph, ...(rtl && { rtlMode: true }) } }, ...rest]
  return all.map((run, index) => (index === all.length - 1 ? { ...run, options: { ...run.options, breakLine: true } } : run))
}

function partRuns(part: Exclude<Inline, { kind: 'break' }>, look: Look, common: RunOptions, setting: TextSetting): readonly TextProps[] {
  switch (part.kind) {
    case 'image':
      return part.image.alt === '' ? [] : [{ text: `[${part.image.alt}]`, options: common }]
    case 'citation':
      return setting.citations.of(part.sids).map((source) => {
        setting.onCite(source)
        const link = source.url === undefined ? {} : { hyperlink: { url: source.url, tooltip: source.title.slice(0, 200) } }
        return { text: `[${source.number}]`, options: { ...common, ...link, superscript: true } }
      })
    case 'text': {
      const address = linkAddress(part.link)
      const colour = part.colour ?? look.colour ?? setting.colour
      return [
        {
          text: part.text,
          options: {
            ...common,
            fontSize: part.size ?? look.size ?? setting.size,
            color: colour,
            ...(part.bold && { bold: true }),
            ...(part.italic && { italic: true }),
            ...(part.strike && { strike: 'sngStrike' as const }),
            ...(part.underline && { underline: { style: 'sng' as const } }),
            ...(part.position === 'super' && { superscript: true }),
            ...(part.position === 'sub' && { subscript: true }),
            ...(part.code && { fontFace: codeFont }),
            ...(address !== undefined && { hyperlink: { url: address } }),
          },
        },
      ]
    }
    default:
      return part satisfies never
  }
}

/** The runs of blocks that can be shown as text, with the blocks inside of them. Tables, charts, images and other blocks are left out. */
export function textRuns(blocks: readonly DocumentBlock[], setting: TextSetting, depth = 0): readonly TextProps[] {
  return blocks.flatMap((block): readonly TextProps[] => {
    switch (block.kind) {
      case 'paragraph':
        return paragraphRuns(block.content, block.look, { paraSpaceAfter: setting.size * 0.4, ...indent(depth) }, setting)
      case 'heading': {
        const size = setting.size * (block.level <= 3 ? 1.15 : 1.05)
        return paragraphRuns(block.content, block.look, { bold: true, paraSpaceAfter: size * 0.25 }, { ...setting, size })
      }
      case 'list':
        return block.items.flatMap((item, index) => itemRuns(item, block.ordered ? block.start + index : undefined, setting, depth))
      case 'quote':
        return textRuns(block.blocks, setting, depth).map((run) => ({ ...run, options: { ...run.options, italic: true } }))
      case 'code':
      case 'diagram': {
        const lines = (block.kind === 'code' ? block.text : block.source).split('\n')
        return lines.map((text) => ({
          text,
          options: { fontFace: codeFont, fontSize: setting.size * 0.75, color: setting.colour, breakLine: true },
        }))
      }
      case 'callout':
        return textRuns(block.blocks, setting, depth)
      default:
        return []
    }
  })
}

/** The indentation of text in a nested list. Presentations have at most nine levels of indentation. */
const indent = (depth: number): RunOptions => (depth > 0 ? { indentLevel: Math.min(depth, 8) } : {})

function itemRuns(item: readonly DocumentBlock[], number: number | undefined, setting: TextSetting, depth: number): readonly TextProps[] {
  const [first, ...rest] = item
  const line = first?.kind === 'paragraph' ? first : undefined
  const bullet: RunOptions = {
    bullet: number === undefined ? true : { type: 'number', numberStartAt: number },
    paraSpaceAfter: setting.size * 0.25,
    ...indent(depth),
  }
  const head = line ? paragraphRuns(line.content, line.look, bullet, setting) : []
  return [...head, ...textRuns(line ? rest : item, setting, depth + 1)]
}
