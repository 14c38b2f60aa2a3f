import type { Chart } from '../structure/document.ts'
import { chartColours } from '../structure/draw-chart.ts'
import { escapeHtml } from '../structure/html.ts'

/* Charts of Word documents. The package `docx` can not make charts, so Daybook adds them to the archive that the package writes. */

/**
 * A placeholder for a chart. It is replaced by the chart when the archive is packed again. It begins and ends with U+E0C1, which
 * `withoutMarks` removes from the content of documents.
 */
export const chartMark = (number: number): string => `\ue0c1${number}\ue0c1`

/** Removes the character of chart marks from a text. */
export const withoutMarks = (text: string): string => text.replaceAll('\ue0c1', '')

/** The size of a chart in EMU, the unit of Office files. One inch is 914,400 EMU. */
const [width, height] = [5_760_000, 3_060_000]

/** Replaces the marks in the text of the document by the charts. */
export function insertCharts(xml: string, charts: readonly Chart[]): string {
  return xml.replace(/<w:r>(?:(?!<\/w:r>)[\s\S]){0,500}\ue0c1(\d{1,4})\ue0c1<\/w:t><\/w:r>/g, (all, digits: string) => {
    const chart = charts[Number(digits) - 1]
    return chart ? `<w:r>${drawing(Number(digits), describe(chart))}</w:r>` : all
  })
}

const describe = ({ title, labels, series }: Chart): string =>
  [title, ...series.map(({ name, values }) => `${name}: ${labels.map((label, index) => `${label} ${values[index]}`).join(', ')}`)]
    .filter((text) => text !== '')
    .join('. ')
    .slice(0, 1_000)

const drawing = (number: number, description: string) =>
  `<w:drawing><wp:inline distT="0" distB="0" distL="0" distR="0"><wp:extent cx="${width}" cy="${height}"/>` +
  `<wp:docPr id="${9_000 + number}" name="Chart ${number}" descr="${escapeHtml(description)}"/><wp:cNvGraphicFramePr/>` +
  `<a:graphic xmlns:a="${drawingNamespace}"><a:graphicData uri="${chartNamespace}">` +
  `<c:chart xmlns:c="${chartNamespace}" r:id="rIdChart${number}"/></a:graphicData></a:graphic></wp:inline></w:drawing>`

const drawingNamespace = 'http://schemas.openxmlformats.org/drawingml/2006/main'
const chartNamespace = 'http://schemas.openxmlformats.org/drawingml/2006/chart'
const relation = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/chart'

/** The files to add to the archive: one for each chart. */
export const chartFiles = (charts: readonly Chart[]): readonly (readonly [string, string])[] =>
  charts.map((chart, index) => [`word/charts/chart${index + 1}.xml`, chartXml(chart)] as const)

/** Adds the charts to the relations of the document and to the list of content types. */
export function registerCharts(name: string, xml: string, charts: readonly Chart[]): string {
  const numbers = charts.map((_, index) => index + 1)
  if (name === 'word/_rels/document.xml.rels') {
    const added = numbers.map((number) => `<Relationship Id="rIdChart${number}" Type="${relation}" Target="charts/chart${number}.xml"/>`)
    return xml.replace('</Relationships>', `${added.join('')}</Relationships>`)
  }
  if (name !== '[Content_Types].xml') return xml
  const type = 'application/vnd.openxmlformats-officedocument.drawingml.chart+xml'
  const added = numbers.map((number) => `<Override PartName="/word/charts/chart${number}.xml" ContentType="${type}"/>`)
  return xml.replace('</Types>', `${added.join('')}</Types>`)
}

function chartXml(chart: Chart): string {
  const { type, title, series } = chart
  const shown = type === 'pie' ? series.slice(0, 1) : series
  const rows = shown.map((_, index) => seriesXml(chart, index)).join('')
  const axes = '<c:axId val="1"/><c:axId val="2"/>'
  const plots = {
    bar: `<c:barChart><c:barDir val="col"/><c:grouping val="clustered"/><c:varyColors val="0"/>${rows}<c:gapWidth val="60"/>${axes}</c:barChart>${axesXml}`,
    line: `<c:lineChart><c:grouping val="standard"/><c:varyColors val="0"/>${rows}<c:marker val="1"/>${axes}</c:lineChart>${axesXml}`,
    pie: `<c:pieChart><c:varyColors val="1"/>${rows}<c:firstSliceAng val="0"/></c:pieChart>`,
  }
  const legend =
    type === 'pie' || shown.length > 1 ? `<c:legend><c:legendPos val="${type === 'pie' ? 'r' : 'b'}"/><c:overlay val="0"/></c:legend>` : ''
  const heading =
    title === ''
      ? '<c:autoTitleDeleted val="1"/>'
      : `<c:title><c:tx><c:rich><a:bodyPr/><a:p><a:pPr><a:defRPr sz="1300" b="1"/></a:pPr><a:r><a:rPr lang="en-US" sz="1300" b="1"/><a:t>${escapeHtml(title)}</a:t></a:r></a:p></c:rich></c:tx><c:overlay val="0"/></c:title><c:autoTitleDeleted val="0"/>`
  return (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>' +
    `<c:chartSpace xmlns:c="${chartNamespace}" xmlns:a="${drawingNamespace}"><c:roundedCorners val="0"/>` +
    `<c:chart>${heading}<c:plotArea><c:layout/>${plots[type]}</c:plotArea>${legend}<c:plotVisOnly val="1"/></c:chart>` +
    '<c:spPr><a:noFill/><a:ln><a:noFill/></a:ln></c:spPr></c:chartSpace>'
  )
}

const axesXml =
  '<c:catAx><c:axId val="1"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="0"/><c:axPos val="b"/><c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="low"/><c:crossAx val="2"/></c:catAx>' +
  '<c:valAx><c:axId val="2"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="0"/><c:axPos val="l"/>' +
  '<c:majorGridlines><c:spPr><a:ln w="6350"><a:solidFill><a:srgbClr val="DDE3EA"/></a:solidFill></a:ln></c:spPr></c:majorGridlines>' +
  '<c:numFmt formatCode="General" sourceLinked="0"/><c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="nextTo"/><c:crossAx val="1"/></c:valAx>'

/** One series. The values are stored in the chart itself, so no Excel workbook is needed. */
function seriesXml({ type, labels, series }: Chart, index: number): string {
  const { name, values } = series[index] as Chart['series'][number] // the caller passes only indexes of existing series
  const points = (texts: readonly (string | number)[]) =>
    `<c:ptCount val="${texts.length}"/>${texts.map((text, at) => `<c:pt idx="${at}"><c:v>${escapeHtml(`${text}`)}</c:v></c:pt>`).join('')}`
  const fill = (at: number) => `<a:solidFill><a:srgbClr val="${chartColours[at % chartColours.length]}"/></a:solidFill>`
  const slices = labels.map((_, at) => `<c:dPt><c:idx val="${at}"/><c:bubble3D val="0"/><c:spPr>${fill(at)}</c:spPr></c:dPt>`).join('')
  const look = {
    bar: `<c:spPr>${fill(index)}</c:spPr><c:invertIfNegative val="0"/>`,
    line: `<c:spPr><a:ln w="28575">${fill(index)}</a:ln></c:spPr><c:marker><c:symbol val="circle"/><c:size val="6"/><c:spPr>${fill(index)}</c:spPr></c:marker>`,
    pie: `${slices}<c:dLbls><c:showLegendKey val="0"/><c:showVal val="0"/><c:showCatName val="0"/><c:showSerName val="0"/><c:showPercent val="1"/><c:showBubbleSize val="0"/></c:dLbls>`,
  }
  return (
    `<c:ser><c:idx val="${index}"/><c:order val="${index}"/><c:tx><c:strRef><c:f>Series${index + 1}</c:f><c:strCache>${points([name])}</c:strCache></c:strRef></c:tx>${look[type]}` +
    `<c:cat><c:strLit>${points(labels)}</c:strLit></c:cat><c:val><c:numLit><c:formatCode>General</c:formatCode>${points(values)}</c:numLit></c:val>` +
    `${type === 'line' ? '<c:smooth val="0"/>' : ''}</c:ser>`
  )
}
