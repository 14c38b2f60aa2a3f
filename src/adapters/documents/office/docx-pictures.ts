import type { ImageRun } from 'docx'
import type { DocxContext } from './docx-text.ts'
import type { OfficeImage } from './images.ts'

/** The tallest picture that fits on a page together with its caption, in pixels. */
const maxHeight = 800

/** An image that is at most `width` pixels wide. Its alternative text is read aloud by screen readers. */
export function picture(image: OfficeImage, alt: string, { docx }: Pick<DocxContext, 'docx'>, width: number): ImageRun {
  const scale = Math.min(1, width / image.width, maxHeight / image.height)
  const transformation = { width: Math.round(image.width * scale), height: Math.round(image.height * scale) }
  const altText = { name: 'image', title: alt, description: alt }
  const data = Buffer.from(image.bytes)
  if (image.type !== 'svg') return new docx.ImageRun({ type: image.type, data, transformation, altText })
  const fallback = { type: 'png' as const, data: onePixel }
  return new docx.ImageRun({ type: 'svg', data, transformation, altText, fallback })
}

/** A transparent pixel. Programs that can not draw SVG, such as Word before 2016, show it in place of an SVG image. */
const onePixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=', 'base64')
