import type { INumberingOptions, IStylesOptions } from 'docx'
import { codeFont, type DocxContext, linkColour } from './docx-text.ts'

type DocxPackage = DocxContext['docx']

const textFont = { ascii: 'Calibri', hAnsi: 'Calibri', eastAsia: 'Microsoft YaHei', cs: 'Arial' }
const dark = '1B2733'

/** The styles of a Word document. Sizes are in half points, spaces in twentieths of a point. */
export function documentStyles(docx: DocxPackage): IStylesOptions {
  const heading = (size: number, before: number, color = dark) => ({
    run: { size, bold: true, color, font: textFont },
    paragraph: { spacing: { before, after: 120 }, keepNext: true },
  })
  return {
    default: {
      document: {
        run: { font: textFont, size: 22, color: dark },
        paragraph: { spacing: { after: 140, line: 276, lineRule: docx.LineRuleType.AUTO } },
      },
      heading1: heading(38, 240, '14395F'),
      heading2: heading(29, 320, '14395F'),
      heading3: heading(25, 260),
      heading4: heading(23, 220),
      heading5: heading(22, 200),
      heading6: heading(22, 200, '4A5563'),
      hyperlink: { run: { color: linkColour, underline: {} } },
      footnoteText: { run: { size: 18 }, paragraph: { spacing: { after: 40, line: 240 } } },
    },
    paragraphStyles: [
      {
        id: 'Code',
        name: 'Code',
        basedOn: 'Normal',
        run: { font: codeFont, size: 18 },
        paragraph: {
          spacing: { before: 80, after: 160, line: 250, lineRule: docx.LineRuleType.AUTO },
          indent: { left: 120, right: 120 },
          alignment: docx.AlignmentType.LEFT,
        },
      },
      {
        id: 'Quote',
        name: 'Quote',
        basedOn: 'Normal',
        run: { italics: true, color: '4A5563' },
        paragraph: { indent: { left: 480, right: 240 } },
      },
      {
        id: 'Caption',
        name: 'caption',
        basedOn: 'Normal',
        run: { size: 19, italics: true, color: '4A5563' },
        paragraph: { spacing: { before: 60, after: 120 }, alignment: docx.AlignmentType.CENTER },
      },
    ],
  }
}

const bullets = ['•', '◦', '▪']

/** The lists of a Word document: bullets, and one numbering for each start number. Each ordered list is an instance of its numbering. */
export function numberingConfig(docx: DocxPackage, starts: readonly number[]): INumberingOptions {
  const levels = Array.from({ length: 9 }, (_, level) => level)
  const indentOf = (level: number) => ({ paragraph: { indent: { left: 720 * (level + 1) - 200, hanging: 460 } } })
  const { LevelFormat, AlignmentType } = docx
  const formats = [LevelFormat.DECIMAL, LevelFormat.LOWER_LETTER, LevelFormat.LOWER_ROMAN]
  return {
    config: [
      {
        reference: 'bullets',
        levels: levels.map((level) => ({
          level,
          format: LevelFormat.BULLET,
          text: bullets[level % 3] as string,
          alignment: AlignmentType.LEFT,
          style: indentOf(level),
        })),
      },
      ...starts.map((start) => ({
        reference: `ordered-${start}`,
        levels: levels.map((level) => ({
          level,
          format: formats[level % 3] as (typeof formats)[number],
          text: `%${level + 1}.`,
          start,
          alignment: AlignmentType.LEFT,
          style: indentOf(level),
        })),
      })),
    ],
  }
}
