import { type BlockType, blockTypes } from '../../src/core/block/block.ts'
import { page, table, withTexts } from './markdown.ts'

/** What each type of block holds. */
const texts: Readonly<Record<BlockType, string>> = {
  'turn.header': 'The beginning of a turn, with its id and its time.',
  'user.prompt': 'The message that started the turn.',
  'user.attachment.meta': 'A file that the user attached: its name, its type and its size. The prompt shows it as one line.',
  'user.attachment': 'The bytes of an attached image or document that can be sent to the model.',
  'user.attachment.text': 'The text of an attached file, in an imported conversation. Daybook itself does not write it.',
  'user.followup': 'A message that arrived while the turn was running.',
  'user.followup.preserved': 'A followup of a turn that a compaction has summarised. It stays in the prompt.',
  'user.steer': 'A message that interrupted the turn.',
  'user.steer.preserved': 'A steer of a turn that a compaction has summarised. It stays in the prompt.',
  'stage.gate': 'The title that the model gave to the conversation.',
  'stage.react': 'A stage of an imported conversation. Daybook itself does not write it.',
  'stage.coordinator': 'A stage of an imported conversation. Daybook itself does not write it.',
  'stage.feedback': 'A stage of an imported conversation. Daybook itself does not write it.',
  'stage.clarification': 'Questions of the model to the user. They end the turn.',
  'stage.clarification.resolved': 'A mark which says that the user has answered the questions.',
  'stage.suggested_followups': 'Questions that the model suggests to the user. The prompt does not show them.',
  'react.thinking': 'What the model thought in a round. The prompt does not show it.',
  'react.decision.raw': 'A response that the user interrupted, as far as it was received.',
  'react.notes': 'The sentence that the model wrote for the user together with a tool call.',
  'react.tool.code': 'The program that the model wrote for an exec tool.',
  'react.tool.call': 'A tool call, with its parameters as JSON. It is stored before the tool runs.',
  'react.tool.result': 'The result of a tool call, an artifact, or metadata of one of them.',
  'react.notice': 'A message from Daybook to the model, with a [code](errors.md#notices): a broken rule, a changed path or a failed call.',
  'react.note': 'A line that the agent wrote for itself: a preference, a decision or a fact.',
  'react.note.preserved': 'A note of a turn that a compaction has summarised. It stays in the prompt.',
  'react.plan': 'A plan, with all its steps.',
  'react.plan.ack': 'A mark with which the model reported a step of a plan as done or failed.',
  'react.plan.history': 'The plans of the turns that a compaction has summarised, as one text.',
  'react.plan.preserved':
    'A plan of a turn that a compaction has summarised. `react.read` finds it. The prompt shows `react.plan.history`.',
  'react.completion': 'An answer of an imported conversation. The prompt does not show it.',
  'react.current_turn.compaction_checkpoint': 'A summary that replaces the beginning of the running turn.',
  'react.workspace.checkout': 'Which files the turn has checked out. The announce shows them.',
  'react.workspace.publish': 'Whether the files of the turn were stored as a version, and if not, why.',
  'assistant.completion': 'The answer of the turn.',
  'assistant.completion.attempt': 'An answer that users saw and that did not end the turn.',
  'assistant.completion.attempt.outcome': 'Why an answer did not end the turn.',
  'agent.log.header': 'A heading of an imported conversation. Daybook itself does not write it.',
  'conv.range.summary': 'A summary that replaces the oldest turns.',
  'conv.working.summary': 'A summary of an imported conversation. Daybook itself does not write it.',
  'event.external': 'An event that the application reported with `agent.notify`, or the late result of a call.',
  'turn.feedback': "A user's opinion about the turn.",
  'system.message': 'A message of the application or of Daybook that no person wrote, such as that the conversation was resumed or pruned.',
}

export function blocksPage(): string {
  return page(
    'Block types',
    'A [timeline](../concepts.md#timeline-and-blocks) is a list of blocks. `block.type` is one of these texts. [Rows](../format.md#rows) describes the fields of a block. Imported blocks of other types are stored, but the model never sees them.',
    table(['type', 'what the block holds'], withTexts('block type', blockTypes, texts)),
  )
}
