/**
 * A line with which the agent marks a step of its plan, such as `✓ [1] Read the report`. The page leaves it out, because the checklist
 * shows the state of the step.
 */
const planMark = /^\s*(?:[✓✗…□→■]|\[[ x]\])\s*\[\d+\]/

/** The notes of the agent without the marks of its plan. Empty if the notes contain only such marks. */
export const notesForPeople = (text: string): string =>
  text
    .split('\n')
    .filter((line) => !planMark.test(line) && !/^\s*\[P\]/.test(line))
    .join('\n')
    .trim()
