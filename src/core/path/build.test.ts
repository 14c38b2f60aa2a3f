import { expect, it } from 'vitest'
import * as build from './build.ts'
import { canonicalPath } from './logical.ts'

const paths = {
  'ar:t1.user.prompt': build.promptPath('t1'),
  'ar:t1.assistant.completion': build.completionPath('t1'),
  'ar:t1.assistant.completion.2': build.completionPath('t1', 2),
  'ar:t1.react.notes.c1': build.notesPath('t1', 'c1'),
  'ar:t1.react.thinking.0': build.thinkingPath('t1', 0),
  'ar:t1.react.decision.raw.interrupted.2': build.interruptedPath('t1', 2),
  'tc:t1.c1.call': build.toolPath('t1', 'c1', 'call'),
  'tc:t1.c1.result': build.toolPath('t1', 'c1', 'result'),
  'tc:t1.c1.notice': build.toolPath('t1', 'c1', 'notice'),
  'tc:t1.c1.code': build.toolPath('t1', 'c1', 'code'),
  'ar:t1.react.plan.plan:t1:ab12': build.planPath('t1', 'plan:t1:ab12'),
  'ar:t1.react.plan.ack.3': build.planAckPath('t1', 3),
  'ar:plan.latest:plan:t1:ab12': build.latestPlanPath('plan:t1:ab12'),
  'ar:t1.stage.gate': build.stagePath('t1', 'gate'),
  'ar:t1.stage.clarification.resolved': build.stagePath('t1', 'clarification.resolved'),
  'ar:t1.external.followup.m1': build.externalPath('t1', 'followup', 'm1'),
  'ar:t1.feedback.latest': build.feedbackPath('t1'),
  'ar:t1.system.message.cache_pruned': build.systemMessagePath('t1', 'cache_pruned'),
  'ar:t1.react.turn.index': build.turnIndexPath('t1'),
  'su:t1.conv.range.summary': build.summaryPath('t1'),
  'ar:t1.react.mid_turn.compaction.1': build.midTurnPath('t1', 1),
  'ar:t1.react.note.preserved.1': build.preservedNotePath('t1', 1),
  'fi:t1.files/a.md': build.filePath('t1', 'files', 'a.md'),
  'fi:t1.outputs/a.md': build.filePath('t1', 'outputs', 'a.md'),
  'fi:t1.user.attachments/\u00e9.png': build.filePath('t1', 'attachments', 'e\u0301.png'),
  'so:sources_pool[3, 5-6]': build.sourcesPath([5, 3, 6]),
}

it.each(Object.entries(paths))('%s is built, and is canonical', (expected, built) => {
  expect(built).toBe(expected)
  expect(canonicalPath(built)).toBe(built)
})

it('files and outputs are both areas of a turn', () => {
  expect(canonicalPath('fi:t1.outputs/a')).toBe('fi:t1.outputs/a')
  expect(canonicalPath('fi:t1.files/a')).toBe('fi:t1.files/a')
})
