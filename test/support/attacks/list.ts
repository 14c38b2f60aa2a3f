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
      name: 'a tool call that kills the process each time it runs',
      file: 'test/faults/poison-call.test.ts',
      outcome: 'after a few times, the call is not run again and fails; the turn continues',
    },
    {
      name: 'kills of a process that deletes a conversation',
      file: 'test/faults/delete-crash.test.ts',
      outcome: 'the next process finishes the deletion; nothing is left of the conversation',
    },
    {
      name: 'kills of a process at every entry of a turn, and at random times',
      file: 'test/faults/loop-crash.test.ts',
      outcome: 'no entry is lost; no effect and no model call is repeated',
    },
    {
      name: 'kills of a process while it ends a turn',
      file: 'test/faults/response-crash.test.ts',
      outcome: 'no entry is lost; no response is paid twice',
    },
    {
      name: 'kills of a process that appends entries',
      file: 'test/faults/crash.test.ts',
      tests: 'killed at thirty random times',
      outcome: 'every acknowledged entry is stored',
    },
    {
      name: 'the SQLite file, its write-ahead log or the folder of blobs is removed while a server runs',
      file: 'test/faults/lost-storage.test.ts',
      outcome: 'the server answers 503 and accepts no message',
    },
    {
      name: 'several processes that use one data folder',
      file: 'test/faults/shared-folder.test.ts',
      outcome: 'every follower gets every entry once',
    },
    {
      name: 'kills of servers under load',
      file: 'test/faults/load-crash.test.ts',
      outcome: 'no entry is lost or stored twice; no effect is repeated',
    },
    {
      name: 'kills of a process whose turn has five parallel calls',
      file: 'test/faults/parallel-crash.test.ts',
      outcome: 'no outcome is lost; no effect is repeated',
    },
    {
      name: 'kills of a process whose turn waits, and has a sub-agent that waits',
      file: 'test/faults/waits-crash.test.ts',
      outcome: 'another process finishes the turn; no effect is repeated',
    },
    {
      name: 'kills of a process while a program of the model runs',
      file: 'test/faults/exec-crash.test.ts',
      outcome: 'the program ends, too; it is not run again',
    },
    {
      name: 'kills of a process that writes to many conversations, and a full disk',
      file: 'test/faults/group-crash.test.ts',
      outcome: 'no acknowledged entry is lost; no append is stored in part',
    },
    {
      name: 'kills of a process that writes or replaces files',
      file: 'test/faults/files-crash.test.ts',
      outcome: 'each file has its old or its new content; no temporary file is left',
    },
    {
      name: 'kills of a process during a checkout or a publish',
      file: 'test/faults/workspace-crash.test.ts',
      outcome: 'every version is complete',
    },
    {
      name: 'kills of a process that writes the memory index',
      file: 'test/faults/memory-crash.test.ts',
      outcome: 'the index equals one that is built from the journal',
    },
    {
      name: 'kills of a process that moves an installation',
      file: 'test/faults/move-crash.test.ts',
      outcome: 'the next move continues; the copy is complete',
    },
    {
      name: 'kills of processes that send scheduled messages, and clocks that jump',
      file: 'test/faults/schedules-crash.test.ts',
      outcome: 'each schedule sends one message for each of its times',
    },
    {
      name: 'kills of three servers with schedules, and clocks that jump',
      file: 'test/faults/schedules-replicas.test.ts',
      outcome: 'each schedule sends one message for each of its times',
    },
    {
      name: 'kills and restarts of PostgreSQL',
      file: 'test/faults/postgres-restarts.test.ts',
      outcome: 'no entry is lost or stored twice; every append gets an answer',
    },
    {
      name: 'connections to PostgreSQL that are cut at any message',
      file: 'test/faults/postgres-answers.test.ts',
      outcome: 'each operation is done once, or its caller learns that it was not done',
    },
    {
      name: 'restarts of three replicas, one after the other',
      file: 'test/faults/rolling-restart.test.ts',
      outcome: 'no request fails; no entry is lost or stored twice',
    },
    {
      name: 'damaged databases',
      file: 'test/faults/damage.test.ts',
      outcome: 'rejected; nothing is overwritten',
    },
  ],
  Requests: [
    {
      name: 'requests for data of another tenant, by every route',
      file: 'test/e2e/hostile-requests.test.ts',
      tests: 'data of another tenant',
      outcome: 'answered as if the data did not exist',
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
    { name: 'slow clients', file: 'test/e2e/slow-clients.test.ts', outcome: 'the client is told to reconnect; no entry is lost' },
    {
      name: 'requests that break off',
      file: 'test/e2e/broken-off-requests.test.ts',
      outcome: 'no error in the log; nothing is stored in part',
    },
    {
      name: 'event streams that are cut, and invalid event ids',
      file: 'test/e2e/resumed-streams.test.ts',
      outcome: 'the next stream has each remaining event once; an invalid id gets 400',
    },
    {
      name: 'key sets that fail, hang or are malformed',
      file: 'src/server/auth/key-set.test.ts',
      outcome: 'requests get 503, or are checked with the last good keys',
    },
    { name: 'expired tokens on open streams', file: 'test/e2e/token-lifetime.test.ts', outcome: 'the stream ends' },
    {
      name: 'deletions during a turn',
      file: 'src/agent/deletion.test.ts',
      outcome: 'the turn does not create the conversation or its files again',
    },
  ],
  'Files and documents': [
    {
      name: 'imported bundles that refer to bytes of another tenant',
      file: 'test/e2e/foreign-blobs.test.ts',
      outcome: 'none of these bytes can be read',
    },
    {
      name: 'imports of hostile bundles',
      file: 'test/e2e/hostile-imports.test.ts',
      outcome: 'the import is refused with a reason, or the imported conversation works',
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
      outcome: 'left out and reported; no path leads to another file',
    },
    {
      name: 'regular expressions with their slowest texts',
      file: 'test/regular-expressions.test.ts',
      tests: 'in linear time',
      outcome: 'each takes linear time',
    },
    { name: 'parsers with their slowest texts', file: 'test/linear-readers.test.ts', outcome: 'each takes linear time' },
    {
      name: 'PDFs that are slow, broken or sent in large numbers',
      file: 'src/adapters/documents/pdf.test.ts',
      outcome: 'limits end the reading; other users are served',
    },
    {
      name: 'hostile HTML',
      file: 'src/adapters/documents/page/read-page.test.ts',
      tests: 'hostile pages',
      outcome: 'read in linear time',
    },
    {
      name: 'documents that are made from hostile HTML',
      file: 'test/rendering/hostile.test.ts',
      outcome: 'the HTML reaches no network and no other files; limits end the rendering',
    },
  ],
  'Model and tool output': [
    {
      name: 'texts that look like headings of the prompt',
      file: 'src/core/render/headings.test.ts',
      outcome: 'a backslash is put before the line; the original text can be restored exactly',
    },
    {
      name: 'very large tool results',
      file: 'test/faults/large-results.test.ts',
      outcome: 'the results are limited; memory stays bounded',
    },
    { name: 'model adapters that send invalid data', file: 'test/turns/hostile-models.test.ts', outcome: 'the answer is kept' },
    {
      name: 'random parameters, and tools that misbehave',
      file: 'test/turns/tool-fuzz.test.ts',
      outcome: 'each call gets a result; the turn continues',
    },
  ],
  'Programs in the sandbox': [
    {
      name: 'programs that try to break out of the sandbox',
      file: 'test/sandbox/escape.test.ts',
      outcome: 'stopped; the machine is not changed',
    },
    {
      name: 'hostile archives that a sandbox on another machine returns',
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
      outcome: 'the request is ended at a limit',
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
