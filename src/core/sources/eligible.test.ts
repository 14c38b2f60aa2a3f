import { describe, expect, it } from 'vitest'
import { documentEligibleMimes, isCitable, isEligibleMime } from './eligible.ts'

describe('which files are sources', () => {
  it('timeline 11.115, C1: images only by default', () => {
    expect(['image/png', 'application/pdf', 'text/plain'].map((mime) => isEligibleMime(mime))).toEqual([true, false, false])
  })

  it('timeline 11.115: text and PDF too by the wider list, and a spreadsheet by neither', () => {
    const sheet = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
    expect(['image/png', 'application/pdf', 'text/plain', sheet].map((mime) => isEligibleMime(mime, documentEligibleMimes))).toEqual([
      true,
      true,
      true,
      false,
    ])
    expect(isEligibleMime(sheet)).toBe(false)
  })

  it('reads a type as it is written on the web', () => {
    expect(isEligibleMime('Text/HTML; charset=utf-8', ['text/*'])).toBe(true)
    expect(isEligibleMime('textual/html', ['text/*'])).toBe(false)
    expect(isEligibleMime('application/pdf2', documentEligibleMimes)).toBe(false)
    expect(['', 'image', undefined].map((mime) => isEligibleMime(mime))).toEqual([false, false, false])
    expect(isEligibleMime('image/png', [])).toBe(false)
  })

  it('timeline 11.118: only pages are evidence, files and images are not', () => {
    expect(isCitable({ url: 'https://a.b', source_type: 'web' })).toBe(true)
    expect(isCitable({ url: 'HTTP://a.b', source_type: 'manual' })).toBe(true)
    expect(isCitable({ url: 'https://a.b' })).toBe(true)
    expect(isCitable({ url: 'https://a.b/x.png', source_type: 'file' })).toBe(false)
    expect(isCitable({ url: 'https://a.b/x.png', source_type: 'attachment' })).toBe(false)
    expect(isCitable({ physical_path: 'turn_1/files/a.png' })).toBe(false)
    expect(['file:///etc/passwd', 'javascript:alert(1)', 'a.b/c', 'https://', ''].map((url) => isCitable({ url }))).toEqual([
      false,
      false,
      false,
      false,
      false,
    ])
  })
})
