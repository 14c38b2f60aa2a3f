import { describe, expect, it } from 'vitest'
import { lastException } from './logs.ts'

const traceback = 'Traceback (most recent call last):\n  File "/daybook/run/program.py", line 2, in <module>\n    raise it\n'

describe('the exception in the log of a program', () => {
  it.each([
    ['Error: plain', 'throw new Error("plain")\n      ^\n\nError: plain\n    at file:///daybook/run/program.mjs:1:7\n\nNode.js v24.0.0\n'],
    ['Error: ENOENT: no such file', 'Error: ENOENT: no such file\n    at open {\n  errno: -2\n}\n\nNode.js v24.0.0\n'],
    ['TypeError [ERR_INVALID_ARG_TYPE]: no path', 'TypeError [ERR_INVALID_ARG_TYPE]: no path\n    at x\n'],
    ['Error [ERR_MODULE_NOT_FOUND]: Cannot find package', 'Error [ERR_MODULE_NOT_FOUND]: Cannot find package\n    at x\n'],
    ['Uncaught RangeError: far', 'Uncaught RangeError: far\n'],
    ['Exception: plain', `${traceback}Exception: plain\n`],
    ['Exception', `${traceback}Exception\n`],
    ['KeyboardInterrupt', `${traceback}KeyboardInterrupt\n`],
    ['Oops: mine', `${traceback}Oops: mine\n`],
    ['shop.Closed: on Sunday', `KeyError: 1\n${traceback}shop.Closed: on Sunday\nsecond line of the message\n`],
    ['StopIteration', `${traceback}StopIteration\n`],
    ['ValueError: last', `${traceback}Oops: first\nDuring handling…\n${traceback}ValueError: last\n`],
    [
      'ExceptionGroup: many (1 sub-exception)',
      '  + Exception Group Traceback (most recent call last):\n  |   File "a"\n  | ExceptionGroup: many (1 sub-exception)\n  +-+-- 1 --\n    | ValueError: a\n    +---\n',
    ],
  ])('is %s', (exception, log) => expect(lastException(log)).toBe(exception))

  it.each(['', 'exit', 'exit: 4', 'done: 3 errors', 'no error here', 'interrupt', `${traceback}`])('is not in %j', (log) =>
    expect(lastException(log)).toBeUndefined(),
  )

  it('is cut when it is long', () => expect(lastException(`Error: ${'x'.repeat(500)}`)).toHaveLength(401))
})
