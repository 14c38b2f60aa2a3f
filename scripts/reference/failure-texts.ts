import type { ServiceErrorKind } from '../../src/core/model-event.ts'
import type { Finding, RejectionReason } from '../../src/tools/attachments/upload.ts'
import type { FailureCode, RequestCode } from './error-codes.ts'

/** For each failure: what happened, and what to do. */
export const failureTexts: { readonly [Code in FailureCode]: readonly [happened: string, todo: string] } = {
  'attachment.rejected': [
    'A file of the message was rejected. Nothing of the message is stored.',
    'Read `details.attachments` (over HTTP: `issues`). It has the reason for each file, see [Attachments](#attachments). Send the message again without the file, or with another one.',
  ],
  'block.invalid': [
    'A block of an import has a wrong shape.',
    'Import the bundle as it was exported. If a program wrote it, compare it with [the format](../format.md#rows).',
  ],
  'blob.missing': [
    'A blob to which the conversation refers is missing in the store.',
    'Restore the folder `blobs` or the bucket from the back-up that belongs to the database.',
  ],
  'blob.damaged': ['The bytes of a blob do not match its hash.', 'Restore the file that the message names from a back-up.'],
  'budget.invalid': ['The name or the limits of a budget are not valid.', 'Correct them as the message says.'],
  'budget.missing': ['There is no budget with this name.', '`agent.budgets.list()` shows the budgets that there are.'],
  'budget.unsupported': ['The store of this agent has no budgets.', 'Use a store of Daybook, or add `budgets` to your own.'],
  'bundle.invalid': [
    'The value is not a bundle, or its parts contradict each other. Nothing was imported.',
    'Export the conversation again. The message says which part is wrong.',
  ],
  'call.expired': [
    'The time for the decision or the result of the call is over.',
    'The model was told, so nothing has to be done. To try again, send a message to the conversation.',
  ],
  'call.missing': ['There is no such call in the conversation.', 'Take the id from `agent.waiting()`, or from the event `turn.waiting`.'],
  'call.refused': [
    'The caller may not settle this call: its token is wrong, or only an operator may decide.',
    'Use the token of this call, or a token with the role `operator`.',
  ],
  'call.settled': [
    'The call does not wait any more, or waits for something else.',
    'Nothing has to be done: only the first decision or result has an effect.',
  ],
  'change.invalid': [
    'A change has a wrong shape. It is not stored.',
    'If a store of your own returned the change, test the store with `describeStore`. If the change is in a file, the file was changed by hand: restore it from a back-up.',
  ],
  'conversation.busy': [
    'Another process runs a turn of the conversation.',
    'Try again at `details.expiresAt` (over HTTP: after `Retry-After`), or end that process.',
  ],
  'conversation.exists': ['A conversation with this id exists.', 'Choose another id.'],
  'conversation.missing': [
    'There is no such conversation, or it belongs to another user.',
    'Check the id and the token. `daybook list` shows the conversations.',
  ],
  'conversation.newer': ['A newer version of Daybook wrote the conversation.', '[Upgrade](../guides/upgrading.md) this process.'],
  'conversation.superseded': [
    'Another process has taken over the conversation while this one was suspended. Nothing was stored.',
    'Send the request again.',
  ],
  'cursor.invalid': ['The cursor of a list is not one that a list returned.', 'Use `next` of the page before, with the same parameters.'],
  'document.unreadable': [
    'A document can not be read: it is damaged, protected or too large.',
    'Save the document again, without protection.',
  ],
  'document.unrenderable': [
    'A document can not be made, for example because there is no browser.',
    'Run `daybook doctor`. It says what to install. See [Documents](../documents.md).',
  ],
  'file.unsafe': [
    'A path leads out of its folder, or the file is a link or a device.',
    'Use a path below the folder. `details.reason` says what is wrong.',
  ],
  'hosting.failed': [
    'A file for users could not be stored or read.',
    'Check the folder `hosted` or the bucket: space, rights, and the keys of the settings `s3`.',
  ],
  'message.missing': ['No message with this id waits.', 'Take the id from the response to the message.'],
  'message.withdrawn': ['The message was taken back or refused, so no turn answers it.', 'Send another message.'],
  'message.read': ['A turn has read the message, so it can not be taken back or changed.', 'Use a steer, or stop the turn.'],
  'model.unavailable': [
    'The name of the model is unknown, its package is not installed, or its key is missing.',
    'The message says which of these is the case. `daybook doctor` lists the keys. See [Models](../models.md#choosing-one).',
  ],
  'receipt.unsupported': [
    'The store can not delete a user or tenant as a whole.',
    'Add `receipts` to your store and run `describeStore`, or delete the conversations one by one.',
  ],
  'schedule.invalid': ['The id, the time or the interval of a schedule is not valid.', 'Correct it as the message says.'],
  'schedule.limit': [
    'The conversation or the user has too many schedules, or the schedules of the user would send too many messages a minute.',
    'Remove a schedule that is not needed.',
  ],
  'schedule.missing': ['The conversation has no such schedule.', '`daybook schedule list` shows the schedules that there are.'],
  'schedule.unsupported': ['The store of this agent can not schedule messages.', 'Use a store of Daybook, or add `schedules` to your own.'],
  'store.closed': ['The store was closed before.', 'Do not use an agent after `close()`.'],
  'store.damaged': ['The database can not be read.', 'Restore it from a [back-up](../guides/backup.md). Keep the damaged file.'],
  'store.failed': [
    'The store could not read or write: the disk is full, there are no rights, or the database does not answer.',
    'The message has the cause. A request is stored as a whole or not at all, so it can be sent again.',
  ],
  'store.newer': ['A newer version of Daybook wrote the database.', '[Upgrade](../guides/upgrading.md) this process.'],
  'store.outdated': ['The database has the format of an older version.', 'Make a back-up and run `daybook migrate`.'],
  'tool.missing': [
    'A call of the turn was approved, and this agent does not have its tool. The turn is left as it is.',
    'Run the agent that has the tool, for example with `--agent`. If the tool was removed, send a message to the conversation: the turn continues, and the model is told that the call did not run.',
  ],
  'turn.missing': ['There is no such turn in the conversation.', 'Take the id from the timeline, or from `daybook show`.'],
  'workspace.failed': [
    'The files of a turn could not be read or stored.',
    'Check the space and the rights of the data folder. With `workspace: git`, check that git runs and that the remote answers.',
  ],
  'workspace.missing': ['The agent has no workspace.', 'Pass `workspaces` to `createAgent`, or use `openStore`, which has one.'],
}

/** For each problem of a request: its status, what happened, and what to do. */
export const requestTexts: { readonly [Code in RequestCode | 'internal']: readonly [status: string, happened: string, todo: string] } = {
  'request.broken': [
    '400',
    'The request is not valid HTTP, or it ended too early.',
    'Send the request again. If this happens often, check the proxy between client and server.',
  ],
  'request.invalid': [
    '400',
    'The body, the query or the path does not match the route.',
    '`issues` names each wrong field. [HTTP routes](http.md) has the fields.',
  ],
  'request.too_large': ['413, 431', 'The body or the headers are too large.', 'See the [limits](../server.md#limits).'],
  'request.too_many': ['429', 'The user has sent too many requests or messages.', 'Wait for the time in `Retry-After`.'],
  'request.too_slow': ['408', 'The request took too long to arrive.', 'Send it again.'],
  'request.unsupported': [
    '415',
    'The type of the body is not accepted.',
    'Send `application/json`. A message may also be `multipart/form-data`.',
  ],
  'route.missing': ['404', 'There is no such path.', 'Check the address and, in your own application, `basePath`.'],
  'route.method': ['405', 'The path does not accept this method.', 'The header `Allow` lists the methods.'],
  'role.refused': ['403', 'The path is for operators.', 'Use a token with the role `operator`.'],
  'resource.changed': ['412', 'The file has changed since the client read a part of it.', 'Read the file from its beginning.'],
  'resource.missing': ['404', 'There is no such file, or it is not for this user.', 'Take the `rn` from the list of files.'],
  'resource.range': ['416', 'The requested part is outside of the file.', 'The header `Content-Range` has the size.'],
  'host.refused': [
    '403',
    'The server has no key for tokens, so it accepts only requests to localhost. The request used another host name.',
    'Set a [key for tokens](../server.md#authentication), or use `127.0.0.1`.',
  ],
  'origin.refused': ['403', 'A web page of another site has sent the request.', 'Add the origin of the page to the setting `origins`.'],
  'token.refused': [
    '401',
    'There is no token, it has expired, or it does not fit the key, the issuer or the audience.',
    'Get a new token. The claims `tenant`, `project`, `sub` and `exp` are required.',
  ],
  'code.refused': ['401', 'The sign-in link was used before or is too old.', 'Start the server again for a new link.'],
  'auth.unavailable': [
    '503',
    'The keys that verify tokens can not be fetched.',
    'Check `auth.jwksUrl`. Clients try again after `Retry-After`.',
  ],
  'server.draining': [
    '503',
    'The server is shutting down.',
    'Send the request again. Another server, or this one after its restart, answers it.',
  ],
  'server.overloaded': [
    '503',
    'The server has too much to do. Nothing of the message is stored.',
    'Send the message again after `Retry-After`. If it happens often, [add a server](../guides/deployment.md).',
  ],
  internal: ['500', 'The server failed unexpectedly.', 'Look for the `request_id` in the log of the server.'],
}

/** Why a model call failed. */
export const serviceTexts: { readonly [Kind in ServiceErrorKind]: string } = {
  aborted: 'The call was stopped, for example by a steer.',
  authentication: 'The provider does not accept the key. Check the variable of the provider.',
  connection: 'The provider can not be reached, or the connection broke.',
  content_filter: "The provider's filter stopped the response.",
  context_overflow: 'The prompt is too long for the model. Daybook compacts it and asks again.',
  invalid_request: 'The provider rejects the request, for example because the model does not exist.',
  malformed_response: 'The response of the provider can not be read.',
  overloaded: 'The provider has too much to do. The turn waits or uses the fallback model.',
  rate_limited: 'Too many requests. The turn waits or uses the fallback model.',
  timeout: 'The provider sent nothing for too long.',
  unknown: 'Another error. The notice `service_error` in the timeline has the message of the provider.',
}

/** Why an attached file was rejected. */
export const attachmentTexts: { readonly [Code in Finding | RejectionReason]: string } = {
  message_size_limit: 'All files of the message together are too large.',
  empty: 'The file is empty.',
  size_limit: 'The file is too large.',
  store_missing: 'The agent has no place to store files.',
  preflight_error: 'The check of the file failed, for example because a scanner does not answer.',
  preflight_rejected: 'The check found a problem, which is one of the codes below.',
  store_error: 'The file could not be stored.',
  archive: 'The file is an archive, or contains one. Send the files themselves.',
  damaged: 'The file is damaged or cut off. Save it again.',
  encrypted: 'The file is protected. Remove the protection.',
  infected: 'The scanner of the application found malicious software.',
  macros: 'The document contains macros. Save it without them.',
  misleading_name: 'The name has characters that make it look like another name. Rename the file.',
  polyglot: 'The file can be opened as two different types, or has data after its end. Save it again.',
  too_much_inside: 'The file has too many pages, pixels, frames or parts, or its unpacked content is too large.',
  type_mismatch: 'The content does not fit the name. Correct the name.',
  unsupported_type: 'The type is not accepted. Send JPEG, PNG, PDF, DOCX, XLSX, PPTX or text.',
}
