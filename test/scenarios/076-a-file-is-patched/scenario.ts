import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

const menu = '# Menu\n\n- soup\n- bread\n- tea\n'

export default {
  title: 'a file is patched with wrong line counts and then replaced as a whole; the timeline shows each patch as it was applied',
  setup: () => ({
    replies: [
      reply.call('react.write', { path: 'files/menu.md', channel: 'canvas', content: menu, kind: 'display' }),
      reply.call('react.patch', {
        path: 'files/menu.md',
        channel: 'canvas',
        patch: '--- a/menu.md\n+++ b/menu.md\n@@ -2,9 +2,4 @@\n\n-- soup\n+- fish soup\n - bread\n',
        kind: 'display',
      }),
      reply.call('react.patch', { path: 'files/menu.md', channel: 'canvas', patch: '# Menu\n\nClosed today.\n', kind: 'display' }),
      reply.answer('The menu is up to date.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
