import { type Refusal, refusal } from './upload.ts'

/** Of a picture, as its header tells it. */
export interface ImageSize {
  readonly width: number
  readonly height: number
}

/** What can be wrong with a picture of any kind. */
export const truncatedImage = refusal('damaged', 'is cut off: the file ends before the picture does. Send it again')

export const trailingData = refusal('polyglot', 'has more in it than a picture: something follows its end')

export const damagedImage = (kind: string): Refusal =>
  refusal('damaged', `is damaged: it is not a whole ${kind} picture. Save it again and send that`)

export const tooManyFrames = (most: number): Refusal => refusal('too_much_inside', `has more than ${most} frames. Send a shorter one`)

export const tooManyPixels = ({ width, height }: ImageSize): Refusal =>
  refusal('too_much_inside', `is a picture of ${width} × ${height} pixels, which is more than can be shown. Make it smaller`)
