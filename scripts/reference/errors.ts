import { statusOf, timelineCodes } from './error-codes.ts'
import { attachmentTexts, failureTexts, requestTexts, serviceTexts } from './failure-texts.ts'
import { code, page, table, withTexts } from './markdown.ts'
import { timelineTexts } from './timeline-texts.ts'
import { detailTexts } from './tool-error-texts.ts'

/** The page with the codes of all errors. The types of the tables make sure that no code of a union is missing. */
export function errorsPage(): string {
  const codes = withTexts('error code', timelineCodes(), { ...timelineTexts, ...detailTexts })
  const details = new Set(Object.keys(detailTexts).map(code))
  const isDetail = ([name = '']: readonly string[]) => details.has(name)
  const timeline = codes.filter((row) => !isDetail(row))
  const isNotice = ([name = '']: readonly string[]) => /^`(?:protocol_|tool_call_error\.|tool_call_warning\.)/.test(name)
  return page(
    'Error codes',
    'Codes do not change between versions, so that programs can compare them. Messages may change. [Troubleshooting](../guides/troubleshooting.md) begins with symptoms.',
    '## Failures',
    'An operation that fails throws a `Failure` with one of these codes in `code`. The server answers with the status.',
    table(
      ['code', 'status', 'what happened', 'what to do'],
      Object.entries(failureTexts).map(([name, [happened, todo]]) => [
        code(name),
        String(statusOf[name as keyof typeof statusOf]),
        happened,
        todo,
      ]),
    ),
    '## HTTP',
    'Problems of the request itself. The body of the response has the code in `code`.',
    table(
      ['code', 'status', 'what happened', 'what to do'],
      Object.entries(requestTexts).map(([name, [status, happened, todo]]) => [code(name), status, happened, todo]),
    ),
    '## Options',
    'A function of the SDK that gets a wrong option throws an `InvalidOption`, which is a `RangeError`. It has no code: `where` names the function, `option` names the option, and the message says what is expected.',
    '## Attachments',
    '`details.attachments` of `attachment.rejected` lists the rejected files. Each has a `reason` and, after a check, a `code`.',
    table(
      ['code', 'meaning'],
      Object.entries(attachmentTexts).map(([name, text]) => [code(name), text]),
    ),
    '## Model providers',
    'The `kind` of an error of a model provider. It is in the field `error` of `response.received` and of a turn result.',
    table(
      ['kind', 'meaning'],
      Object.entries(serviceTexts).map(([name, text]) => [code(name), text]),
    ),
    '## Tool calls',
    'A failed tool call has one of these codes, or a code of your own tool, in `error.code`. The model reads the code and the message. A few codes of this table, such as `tool_result_error`, are codes of notices about a failed call.',
    table(
      ['code', 'meaning'],
      timeline.filter((row) => !isNotice(row)),
    ),
    '## Details of tool calls',
    'These codes are inside of an error or a notice. `details.errors` of the error of a program lists its files. `violations` and `issues` of a notice list the parameters and the references of a call.',
    table(['code', 'meaning'], codes.filter(isDetail)),
    '## Notices',
    'A notice is a block `react.notice`. It tells the model that its response broke a rule, or that something was changed. [When it breaks a rule](../protocol.md#when-it-breaks-a-rule) describes what happens then. Users of a server see the code of a notice, and not its text.',
    table(['code', 'meaning'], timeline.filter(isNotice)),
  )
}
