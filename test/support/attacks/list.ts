/** A kind of attack, and the tests that make it. */
export interface Attack {
  readonly name: string
  readonly file: string
  /** If set, only the tests whose full name contains this text belong to the attack. */
  readonly tests?: string
  /** What happens when the attack is made, for the table. */
  readonly outcome: string
}

/** The attacks that docs/security.md lists, in its order and under its headings. A new suite with attacks adds a row here. */
export const attacksByPart: Readonly<Record<string, readonly Attack[]>> = {
  'Killed processes and lost storage': [
    {
      name: 'calls that kill their process each time',
      file: 'test/faults/poison-call.test.ts',
      outcome: 'given up; the turn goes on',
    },
    { name: 'kills during a deletion', file: 'test/faults/delete-crash.test.ts', outcome: 'finished later; nothing is left' },
    {
      name: 'kills at every entry of a turn and at random',
      file: 'test/faults/loop-crash.test.ts',
      outcome: 'nothing lost, nothing repeated',
    },
    {
      name: 'kills while a turn ends',
      file: 'test/faults/response-crash.test.ts',
      outcome: 'nothing lost, nothing paid twice',
    },
    {
      name: 'kills of a writer',
      file: 'test/faults/crash.test.ts',
      tests: 'killed at thirty random times',
      outcome: 'every acknowledged entry is stored',
    },
    {
      name: 'database, log or blobs removed while running',
      file: 'test/faults/lost-storage.test.ts',
      outcome: '503; nothing is accepted',
    },
    {
      name: 'several processes on one folder',
      file: 'test/faults/shared-folder.test.ts',
      outcome: 'every follower gets every entry once',
    },
    {
      name: 'kills of servers under load',
      file: 'test/faults/load-crash.test.ts',
      outcome: 'nothing lost, doubled or repeated',
    },
    {
      name: 'kills of a turn with five parallel calls',
      file: 'test/faults/parallel-crash.test.ts',
      outcome: 'no outcome is lost; no effect is repeated',
    },
    {
      name: 'kills of a turn that waits, with a sub-agent',
      file: 'test/faults/waits-crash.test.ts',
      outcome: 'answered by another process; nothing is repeated',
    },
    {
      name: 'kills while a program runs',
      file: 'test/faults/exec-crash.test.ts',
      outcome: 'the program ends, too; it is not run again',
    },
    {
      name: 'kills while many conversations write, and a full disk',
      file: 'test/faults/group-crash.test.ts',
      outcome: 'no acknowledged entry is lost; no partial append',
    },
    {
      name: 'kills while files are written or replaced',
      file: 'test/faults/files-crash.test.ts',
      outcome: 'the old or the new content; no temporary files',
    },
    {
      name: 'kills during a checkout or a publish',
      file: 'test/faults/workspace-crash.test.ts',
      outcome: 'every version is complete',
    },
    {
      name: 'kills while the memory index is written',
      file: 'test/faults/memory-crash.test.ts',
      outcome: 'the index equals one that is built from the journal',
    },
    {
      name: 'kills while an installation is moved',
      file: 'test/faults/move-crash.test.ts',
      outcome: 'continued; the copy is complete',
    },
    {
      name: 'kills while schedules fire, and clocks that jump',
      file: 'test/faults/schedules-crash.test.ts',
      outcome: 'each time fires once',
    },
    {
      name: 'kills of three servers with schedules, and clocks that jump',
      file: 'test/faults/schedules-replicas.test.ts',
      outcome: 'each time fires once',
    },
    {
      name: 'kills and restarts of PostgreSQL',
      file: 'test/faults/postgres-restarts.test.ts',
      outcome: 'no entry is lost or doubled; every append gets its answer',
    },
    {
      name: 'connections to PostgreSQL that are cut at any message',
      file: 'test/faults/postgres-answers.test.ts',
      outcome: 'done once, or known not to be done',
    },
    {
      name: 'restarts of three replicas, one after the other',
      file: 'test/faults/rolling-restart.test.ts',
      outcome: 'no request fails; nothing is lost or doubled',
    },
    {
      name: 'damaged databases',
      file: 'test/faults/damage.test.ts',
      outcome: 'rejected; nothing is overwritten',
    },
  ],
  Requests: [
    {
      name: 'data of another tenant, by every route',
      file: 'test/e2e/hostile-requests.test.ts',
      tests: 'data of another tenant',
      outcome: 'answered as if it did not exist',
    },
    {
      name: 'hostile paths',
      file: 'test/e2e/hostile-requests.test.ts',
      tests: 'hostile paths',
      outcome: 'refused; nothing changes',
    },
    {
      name: 'hostile bodies',
      file: 'test/e2e/hostile-requests.test.ts',
      tests: 'hostile bodies',
      outcome: 'refused; nothing changes',
    },
    {
      name: 'forged origins and tokens',
      file: 'test/e2e/hostile-requests.test.ts',
      tests: 'forged origins and tokens',
      outcome: 'refused; no secret in response or log',
    },
    {
      name: 'unusual methods and malformed HTTP',
      file: 'test/e2e/hostile-requests.test.ts',
      tests: 'unusual methods and malformed HTTP',
      outcome: 'refused; nothing changes',
    },
    {
      name: 'internal content, asked for by a user',
      file: 'test/e2e/roles.test.ts',
      outcome: 'withheld in every format and route',
    },
    { name: 'internal files, asked for by a user', file: 'test/e2e/internal-files.test.ts', outcome: 'withheld' },
    {
      name: 'downloads that are not read',
      file: 'test/faults/silent-clients.test.ts',
      tests: 'readers that do not read',
      outcome: 'memory stays bounded',
    },
    {
      name: 'followers that do not read',
      file: 'test/faults/silent-clients.test.ts',
      tests: 'silent followers',
      outcome: 'memory stays bounded',
    },
    { name: 'slow clients', file: 'test/e2e/slow-clients.test.ts', outcome: 'told to resync; nothing is lost' },
    {
      name: 'requests that break off',
      file: 'test/e2e/broken-off-requests.test.ts',
      outcome: 'no error, nothing half stored',
    },
    { name: 'event ids, cut streams', file: 'test/e2e/resumed-streams.test.ts', outcome: 'every frame once, or 400' },
    {
      name: 'key sets that fail, hang or are malformed',
      file: 'src/server/auth/key-set.test.ts',
      outcome: '503, or the last good keys',
    },
    { name: 'expired tokens on open streams', file: 'test/e2e/token-lifetime.test.ts', outcome: 'the stream ends' },
    { name: 'deletions during a turn', file: 'src/agent/deletion.test.ts', outcome: 'nothing comes back' },
  ],
  'Files and documents': [
    {
      name: 'bundles that name bytes of another tenant',
      file: 'test/e2e/foreign-blobs.test.ts',
      outcome: 'no byte is readable',
    },
    {
      name: 'hostile bundles',
      file: 'test/e2e/hostile-imports.test.ts',
      outcome: 'refused with the reason, or the conversation works',
    },
    {
      name: 'hostile skill files',
      file: 'src/adapters/skills/skills.test.ts',
      tests: 'hostile skill files',
      outcome: 'left out and reported; the other skills are used',
    },
    {
      name: 'hostile documents of a knowledge base',
      file: 'src/adapters/knowledge/knowledge.test.ts',
      tests: 'hostile files',
      outcome: 'left out and reported; paths lead nowhere',
    },
    {
      name: 'regular expressions with their slowest texts',
      file: 'test/regular-expressions.test.ts',
      tests: 'in linear time',
      outcome: 'linear time',
    },
    { name: 'parsers with their slowest texts', file: 'test/linear-readers.test.ts', outcome: 'linear time' },
    {
      name: 'PDFs that are slow, many or broken',
      file: 'src/adapters/documents/pdf.test.ts',
      outcome: 'ended by limits; other users are served',
    },
    {
      name: 'hostile HTML',
      file: 'src/adapters/documents/page/read-page.test.ts',
      tests: 'hostile pages',
      outcome: 'read in linear time',
    },
    {
      name: 'hostile pages in documents',
      file: 'test/rendering/hostile.test.ts',
      outcome: 'no network, no other files; ended by limits',
    },
  ],
  'Model and tool output': [
    {
      name: 'texts that look like headings of the prompt',
      file: 'src/core/render/headings.test.ts',
      outcome: 'a backslash is put before the line; it can be removed exactly',
    },
    {
      name: 'results larger than the memory',
      file: 'test/faults/large-results.test.ts',
      outcome: 'limited; memory stays bounded',
    },
    { name: 'model adapters that send nonsense', file: 'test/turns/hostile-models.test.ts', outcome: 'the answer is kept' },
    {
      name: 'tools and parameters at random',
      file: 'test/turns/tool-fuzz.test.ts',
      outcome: 'a result each; the turn goes on',
    },
  ],
  'Programs in the sandbox': [
    {
      name: 'programs that try to break out of the sandbox',
      file: 'test/sandbox/escape.test.ts',
      outcome: 'stopped; the machine is as before',
    },
    {
      name: 'archives that come back from another machine',
      file: 'src/testing/zipped-sandbox/zipped-sandbox.test.ts',
      tests: 'is rejected',
      outcome: 'rejected; nothing is written',
    },
  ],
  'Web pages and addresses': [
    {
      name: 'addresses that lead into a private network',
      file: 'test/web/ssrf.test.ts',
      outcome: 'refused; no request is sent',
    },
    {
      name: 'web pages that never end or fill the memory',
      file: 'src/adapters/web/fetcher.test.ts',
      tests: 'is given up',
      outcome: 'given up at a limit',
    },
  ],
  'The page': [
    { name: 'scripts and links in answers', file: 'ui/src/markdown/markdown-view.test.tsx', outcome: 'shown as text' },
    {
      name: 'scripts and addresses in everything that the page shows',
      file: 'test/page/hostile.test.ts',
      outcome: 'shown as text; nothing leaves the page',
    },
    {
      name: 'scripts in HTML files, pictures and diagrams',
      file: 'test/page/viewer.test.ts',
      tests: 'runs no script',
      outcome: 'shown without running',
    },
    {
      name: 'addresses in HTML files, pictures and diagrams',
      file: 'test/page/viewer.test.ts',
      tests: 'sends nothing',
      outcome: 'nothing leaves the page',
    },
  ],
}

export const attacks: readonly Attack[] = Object.values(attacksByPart).flat()
