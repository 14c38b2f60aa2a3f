import { describe, expect, it } from 'vitest'
import { ask, modelNames, requestOf, text } from '../../../test/support/models/provider-models.ts'
import { png } from '../../../test/support/sample-files/images.ts'
import type { BinaryPart, Part } from '../../core/render/types.ts'
import { startFakeProvider } from '../../testing/fake-providers/fake-provider.ts'
import { omittedParts, placeholderText } from './binary-limits.ts'
import { modelFrom } from './model-from.ts'
import { providerRules } from './provider-rules.ts'

const image = (sha256: string, more: Partial<BinaryPart> & { size?: number } = {}): BinaryPart => {
  const { size = 1_000, ...rest } = more
  return { type: 'image', media_type: 'image/png', blob: { sha256, size }, width: 100, height: 100, ...rest }
}
const omitted = (parts: readonly Part[], refused: readonly string[] = []) => [
  ...omittedParts(parts, providerRules.anthropic, new Set(refused)),
]

describe('images and documents that a provider would refuse are not sent', () => {
  it('too many bytes, too many pixels, too many pages, another type, or refused before', () => {
    const parts = [
      image('a'),
      image('b', { size: 5_000_000 }),
      image('c', { width: 8_001 }),
      image('d', { media_type: 'image/tiff' }),
      image('e'),
      image('f', { type: 'document', media_type: 'application/pdf', pages: 601 }),
    ]
    expect(omitted(parts, ['e'])).toEqual([
      [1, 'size'],
      [2, 'size'],
      [3, 'type'],
      [4, 'refused'],
      [5, 'size'],
    ])
  })

  it('with more than 20 images, those with more than 2,000 pixels', () => {
    const small = Array.from({ length: 20 }, (_, n) => image(`s${n}`))
    expect(omitted([...small.slice(0, 19), image('wide', { width: 2_162, height: 322 })])).toEqual([])
    expect(omitted([...small, image('wide', { width: 2_162, height: 322 })])).toEqual([[20, 'size']])
  })

  it('of too many, the oldest', () => {
    const parts = Array.from({ length: 7 }, (_, n) => image(`s${n}`, { size: 3_500_000 }))
    expect(omitted(parts)).toEqual([
      [1, 'number'],
      [0, 'number'],
    ])
  })

  it('a line of text says why', () => {
    expect(placeholderText(image('a'), 'size')).toBe(
      '[image not shown: image/png, 1000 bytes. This image is too large for the model; say so if the user asks about it.]\n\n',
    )
  })
})

describe('an image that the provider refuses', () => {
  const broken = Buffer.from('<!DOCTYPE html>')
  const read = async ({ sha256 }: { sha256: string }) => (sha256 === 'broken' ? broken : png())
  const send = (model: ReturnType<typeof modelFrom>, parts: readonly Part[]) => ask(model, requestOf(parts, { read }))

  it('is left out of a second request, and of all later ones', async () => {
    const provider = await startFakeProvider('anthropic', ['One.', 'Two.', 'Three.'])
    const model = modelFrom(modelNames.anthropic, { environment: provider.environment })
    expect(await send(model, [text('Look'), image('broken')])).toContainEqual({ type: 'text.delta', text: 'One.' })
    expect(provider.requests).toHaveLength(2)
    expect(await send(model, [text('Again'), image('broken')])).toContainEqual({ type: 'text.delta', text: 'Two.' })
    expect(provider.requests).toHaveLength(3)
    expect(provider.requests[2]?.raw).toContain('The model service refused this image')
    expect(await send(model, [text('Another'), image('good')])).toContainEqual({ type: 'text.delta', text: 'Three.' })
    expect(provider.requests[3]?.raw).toContain('image/png')
    await provider.close()
  })

  it('the error is reported if the request fails without images, too, and the image is sent again later', async () => {
    const provider = await startFakeProvider('anthropic', [{ error: 'content_filter' }, { error: 'authentication' }, 'Fine.'])
    const model = modelFrom(modelNames.anthropic, { environment: provider.environment })
    expect(await send(model, [text('Look'), image('good')])).toMatchObject([{ type: 'error', error: { kind: 'content_filter' } }])
    expect(await send(model, [text('Look'), image('good')])).toMatchObject([{ type: 'error', error: { kind: 'authentication' } }])
    await send(model, [text('Look'), image('good')])
    expect(provider.requests.at(-1)?.raw).toContain('"media_type":"image/png"')
    await provider.close()
  })
})
