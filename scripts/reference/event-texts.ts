/** The events of the SDK, and the messages of the stream `native`. */
export const nativeTexts: Readonly<Record<string, string>> = {
  entry: 'An entry of the journal: its number `seq` and its `change`. It is stored before it is sent.',
  'lane.delta': 'A piece of text that the model is writing. It is not in the journal yet.',
  status: 'What the turn is doing now.',
  ready: 'The first message of the stream: the id of the conversation and the last `seq`. Only over HTTP.',
  resync:
    'The server ends the stream, because the client read too slowly, its token has expired, or the events could not be read. The client has to reconnect. Only over HTTP.',
  server_shutdown: 'The server is shutting down. The client has to reconnect. Only over HTTP.',
}

export const statusTexts: Readonly<Record<string, string>> = {
  deciding: 'The model is called.',
  retrying: 'A model call failed and is repeated.',
  compacting: 'The prompt is too long, and a summary is made.',
  'tool.started': 'A tool runs. `tool_id` and `call_id` name it.',
  'tool.progress': 'A running tool reports its progress. `text` is one line for users.',
  'tool.ended': 'A tool has returned.',
  wrapping_up: 'The turn has reached a limit, and the model may only answer.',
}

/** The changes of a journal. `docs/format.md` has their fields. */
export const changeTexts: Readonly<Record<string, string>> = {
  'turn.opened': 'A turn begins.',
  'turn.closed': 'A turn has ended.',
  'turn.waiting': 'A turn waits for something outside of the process.',
  'turn.resumed': 'Waits have ended, and the turn continues.',
  'blocks.appended': 'Blocks are added at the end of the timeline.',
  'blocks.inserted': 'Blocks are inserted after an earlier block.',
  'blocks.hidden': 'The prompt shows one line in place of these blocks.',
  'blocks.revealed': 'The prompt shows hidden blocks again.',
  'range.compacted': 'A summary replaces the oldest visible blocks.',
  'response.received': 'A response of the model, its usage, and a record of its prompt.',
  'sources.merged': 'The source pool gets new or changed sources.',
  'sources.used': 'An answer or an artifact cites these sources.',
  'source.removed': 'A source is removed from the pool.',
  'title.set': 'The conversation gets a title.',
  'event.accepted': 'An event, such as a message, waits in the inbox.',
  'event.folded': 'A turn has read events of the inbox, or they were withdrawn.',
  'call.repeated': 'A tool is about to run again, because the process died while it ran.',
  'call.finished': 'A tool has returned while an earlier call of the same response still runs.',
  'feedback.seen': 'All feedback up to a time has become blocks.',
  'timeline.imported': 'The visible state of an imported conversation.',
}

/** The events of the stream `chat`. */
export const chatTexts: Readonly<Record<string, string>> = {
  'chat.start': 'A turn has got its message.',
  'chat.delta': 'A piece of text that the model is writing. `delta.marker` says where it is shown.',
  'chat.step': 'What the turn is doing now. `data.status` is one of the [statuses](#status).',
  'chat.complete': 'The answer of the turn, with its sources and suggested followups.',
  'chat.error': 'The turn could not be finished.',
  'chat.compaction': 'A summary replaced older turns in the prompt.',
  'chat.conversation.title': 'The conversation got a title.',
  'chat.conversation.turn.completed': 'The turn has ended, with its exit reason.',
  'chat.citations': 'The sources that the answer cites.',
  'chat.files': 'A file for the user.',
  'chat.followups': 'Questions that the model suggests to the user.',
  'chat.clarification_questions': 'Questions of the model to the user.',
  'react.plan': 'A plan was changed.',
  'react.tool.call': 'A tool call.',
  'react.tool.result': 'The result of a tool call.',
  'solver.react.decision': 'The response of a round is complete.',
  'accounting.usage': 'The tokens that a model call used.',
  'conv.status': 'The state of the conversation: `in_progress`, `waiting`, `idle` or `error`.',
  'turn.waiting': 'The turn waits, with what it waits for.',
  'turn.resumed': 'The turn continues.',
  'timeline.external.<kind>.accepted': 'The conversation accepted a message or another event of this kind.',
  'timeline.external.folded': 'A turn has read messages.',
}

/** The events of the stream `ag-ui`. */
export const agUiTexts: Readonly<Record<string, string>> = {
  RUN_STARTED: 'A turn begins.',
  RUN_FINISHED: 'The turn has ended. If it waits, `outcome` is an interrupt.',
  RUN_ERROR: 'The turn could not be finished, or the stream was interrupted.',
  TEXT_MESSAGE_START: 'The answer begins.',
  TEXT_MESSAGE_CONTENT: 'A piece of the answer.',
  TEXT_MESSAGE_END: 'The answer is complete.',
  REASONING_START: 'The thinking begins.',
  REASONING_MESSAGE_START: 'The thinking begins.',
  REASONING_MESSAGE_CONTENT: 'A piece of the thinking.',
  REASONING_MESSAGE_END: 'The thinking is complete.',
  REASONING_END: 'The thinking is complete.',
  TOOL_CALL_START: 'A tool call.',
  TOOL_CALL_ARGS: 'The parameters of the call as JSON.',
  TOOL_CALL_END: 'The parameters are complete.',
  TOOL_CALL_RESULT: 'The result of the call.',
  CUSTOM: 'A cited source (`citation`) or a file for the user (`file`).',
}

/** The parts of the stream `ui-message`. */
export const uiMessageTexts: Readonly<Record<string, string>> = {
  start: 'A turn begins.',
  'text-start': 'The answer begins.',
  'text-delta': 'A piece of the answer.',
  'text-end': 'The answer is complete.',
  'reasoning-start': 'The thinking begins.',
  'reasoning-delta': 'A piece of the thinking.',
  'reasoning-end': 'The thinking is complete.',
  'tool-input-start': 'A tool call.',
  'tool-input-available': 'The parameters of the call.',
  'tool-output-available': 'The result of the call.',
  'tool-output-error': 'The call failed.',
  'tool-approval-request': 'A person has to approve a call.',
  'source-url': 'A cited source.',
  file: 'A file for the user.',
  finish: 'The turn has ended, or waits.',
  abort: 'The user stopped the turn.',
  error: 'The turn could not be finished, or the stream was interrupted.',
}
