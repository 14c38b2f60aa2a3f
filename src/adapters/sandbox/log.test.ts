import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleanOutput } from './clean-output.ts'
import { createOutputLog } from './log.ts'

describe('the log of a program', () => {
  it('keeps the beginning and the end of any output, within its limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 64 }), fc.array(fc.string({ unit: 'grapheme-ascii', maxLength: 90 })), (maxBytes, pieces) => {
        const output = createOutputLog(maxBytes)
        for (const piece of pieces) output.add(Buffer.from(piece))
        const text = pieces.join('')
        const head = Math.floor(maxBytes / 4)
        const { log, logBytesDropped } = output.finish()
        const dropped = Math.max(0, text.length - maxBytes)
        expect(logBytesDropped).toBe(dropped)
        expect(log).toBe(
          dropped === 0
            ? text
            : `${text.slice(0, head)}\n[${dropped} bytes of output dropped]\n${text.slice(text.length - (maxBytes - head))}`,
        )
      }),
    )
  })

  it('does not show half characters where it was cut', () => {
    const output = createOutputLog(40)
    output.add(Buffer.from('ä€😀'.repeat(30)))
    expect(output.finish().log).not.toContain('\ufffd')
  })
})

describe('the output of a program', () => {
  it.each([
    ['colours', '\x1b[1;31mred\x1b[0m', 'red'],
    ['a cursor that moves up and clears lines', 'one\x1b[1A\x1b[2Ktwo', 'onetwo'],
    ['a new window title', '\x1b]0;owned\x07text', 'text'],
    ['a link', '\x1b]8;;http://x\x1b\\name\x1b]8;;\x1b\\', 'name'],
    ['a write to the clipboard', '\x1b]52;c;cm0gLXJm\x07', ''],
    ['a device control text', 'a\x1bP$q"p\x1b\\b', 'ab'],
    ['a reset of the terminal', '\x1bcok', 'ok'],
    ['8-bit sequences', '\x9b2J\x9d0;x\x07ok\x85', 'ok'],
    ['an overwritten line', '10 %\r20 %\r\n', '10 %\n20 %\n'],
    ['backspaces, bells and null bytes', 'a\b\x07\0b', 'ab'],
    ['a sequence without an end', 'a\x1b]0;never\nnext', 'a\nnext'],
    ['an escape at the end', 'a\x1b', 'a'],
    ['text with tabs and letters of all kinds', 'a\tä€😀\n', 'a\tä€😀\n'],
  ])('is shown without %s', (_, output, shown) => {
    expect(cleanOutput(output)).toBe(shown)
  })

  it('never has an escape or another control character, and keeps plain text', () => {
    const piece = fc.oneof(fc.string(), fc.constantFrom('\x1b', '\x1b[', '\x1b]', '\x9b', '\x07', '\r', '\n', '\\', ';', 'm'))
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const codes = [...cleanOutput(pieces.join(''))].map((character) => character.charCodeAt(0))
        expect(codes.filter((code) => (code < 0x20 && code !== 9 && code !== 10) || (code > 0x7e && code < 0xa0))).toEqual([])
      }),
    )
  })
})
