import { createMemoryTables } from './create-memory-tables.ts'
import { firstTables } from './first-tables.ts'

/**
 * The SQL of the schema, one step per version. `docs/format.md` describes the tables. A released step is never changed. A new version adds
 * a step. When an older file is opened, the missing steps run in one transaction.
 */
export const migrations: readonly string[] = [
  firstTables,
  // This step fills the column `waiting` from the journal. Event ids are compared and stored as JSON text, with quotes and escapes. A row
  // with invalid JSON is skipped, so that the other conversations are migrated. Loading the conversation of this row reports the error.
  `
  ALTER TABLE conversations ADD COLUMN waiting TEXT;
  WITH events (entry, type, body) AS MATERIALIZED (
    SELECT entry, type, iif(json_valid(body), body, '{}') FROM journal WHERE type IN ('event.accepted', 'event.folded')
  ), said (conversation, id, entry) AS (
    SELECT entry >> 32, body -> '$.event.event_id', max(entry) FROM events
    WHERE type = 'event.accepted' AND body ->> '$.event.kind' = 'followup' GROUP BY 1, 2
  ), folded (conversation, id, entry) AS (
    SELECT entry >> 32, body -> each.fullkey, max(entry) FROM events, json_each(body, '$.event_ids') AS each
    WHERE events.type = 'event.folded' GROUP BY 1, 2
  ), waiting (conversation, ids) AS (
    SELECT said.conversation, '[' || group_concat(said.id, ',' ORDER BY said.entry) || ']'
    FROM said LEFT JOIN folded USING (conversation, id)
    WHERE folded.entry IS NULL OR folded.entry < said.entry GROUP BY 1
  )
  UPDATE conversations SET waiting = ids FROM waiting WHERE conversation = key;
  `,
  // A process with an older version of Daybook may still have the file open and take claims. It does not write these columns. Because
  // `owner_epoch` then differs from `epoch`, readers see that the columns are outdated.
  `
  ALTER TABLE conversations ADD COLUMN owner_started_at TEXT;
  ALTER TABLE conversations ADD COLUMN owner_boot_id TEXT;
  ALTER TABLE conversations ADD COLUMN owner_pid_ns TEXT;
  ALTER TABLE conversations ADD COLUMN owner_epoch INTEGER;
  `,
  // A row with `deleted_at` belongs to a conversation whose deletion has begun. The row is removed when nothing else of the conversation is
  // left.
  `
  ALTER TABLE conversations ADD COLUMN deleted_at TEXT;
  CREATE INDEX conversations_deleted ON conversations (id) WHERE deleted_at IS NOT NULL;
  INSERT INTO counters VALUES ('freed_text', 0);
  `,
  // Lists are read from these indexes. `folder` is the id up to its last slash: tenant, project and user, or '' for a local conversation.
  `
  ALTER TABLE conversations ADD COLUMN folder TEXT GENERATED ALWAYS AS (rtrim(id, replace(id, '/', ''))) VIRTUAL;
  CREATE INDEX conversations_by_activity ON conversations (last_activity_at DESC, id) WHERE deleted_at IS NULL;
  CREATE INDEX conversations_by_folder ON conversations (folder, last_activity_at DESC, id) WHERE deleted_at IS NULL;
  CREATE INDEX conversations_unfinished ON conversations (last_activity_at DESC, id)
    WHERE deleted_at IS NULL AND (open_turn IS NOT NULL OR waiting IS NOT NULL);
  `,
  // The column `offers` is the number of offers that were not taken, or null when there are no such offers. References of an offer to blobs
  // are in `blob_refs` with the negative number of the offer as `seq`.
  `
  CREATE TABLE offers (
    number INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    event TEXT NOT NULL,
    body TEXT NOT NULL,
    outcome TEXT,
    taken_at TEXT,
    UNIQUE (conversation, event)
  ) STRICT;
  CREATE INDEX offers_not_taken ON offers (conversation, number) WHERE outcome IS NULL;
  ALTER TABLE conversations ADD COLUMN offers INTEGER;
  CREATE INDEX conversations_offered ON conversations (id) WHERE offers IS NOT NULL;
  DROP INDEX conversations_unfinished;
  CREATE INDEX conversations_unfinished ON conversations (last_activity_at DESC, id)
    WHERE deleted_at IS NULL AND (open_turn IS NOT NULL OR waiting IS NOT NULL OR offers IS NOT NULL);
  `,
  // Turns that wait. `work_at` is a computed column, because a process with an older version of Daybook may still have the file open, and
  // such a process writes neither `waits` nor `due_at`. `work_at` is '' if the conversation has work now, a time if it has work from this
  // time on, and null if it has no work.
  `
  ALTER TABLE conversations ADD COLUMN waits TEXT;
  ALTER TABLE conversations ADD COLUMN due_at TEXT;
  ALTER TABLE conversations ADD COLUMN work_at TEXT GENERATED ALWAYS AS
    (CASE WHEN offers IS NOT NULL THEN '' WHEN waits IS NOT NULL THEN due_at WHEN open_turn IS NOT NULL OR waiting IS NOT NULL THEN '' END) VIRTUAL;
  DROP INDEX conversations_unfinished;
  CREATE INDEX conversations_with_work ON conversations (work_at) WHERE deleted_at IS NULL AND work_at IS NOT NULL;
  CREATE INDEX conversations_waiting ON conversations (last_activity_at DESC, id) WHERE deleted_at IS NULL AND waits IS NOT NULL;
  `,
  createMemoryTables,
  // The memory index is built again from the journals, with other tables. Entries are indexed after they were committed.
  `
  DROP TABLE memory_owners;
  DROP TABLE memory_conversations;
  DROP TABLE memory_documents;
  DROP TABLE memory_postings;
  DELETE FROM memory_snippets;
  DELETE FROM memory_turns;
  CREATE TABLE memory_owners (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    folder TEXT NOT NULL UNIQUE,
    next INTEGER NOT NULL,
    snippets INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE memory_documents (
    owner INTEGER NOT NULL,
    "group" INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, "group")
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE memory_postings (
    owner INTEGER NOT NULL,
    term INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, term, chunk)
  ) STRICT, WITHOUT ROWID;
  UPDATE conversations SET memory_seq = 0;
  `,
  // The terms of texts have changed, so the memory index is built again.
  `
  DELETE FROM memory_owners;
  DELETE FROM memory_documents;
  DELETE FROM memory_postings;
  DELETE FROM memory_snippets;
  DELETE FROM memory_turns;
  UPDATE conversations SET memory_seq = 0;
  `,
  // `active_at` is the time of the last entry while a turn runs. `last_activity_at` is part of the indexes of lists, and an append that
  // changed it would write a page of each of these indexes. A process with an older version of Daybook may still have the file open. Such a
  // process writes only `last_activity_at`, which is then later than `active_at`.
  `
  ALTER TABLE conversations ADD COLUMN active_at TEXT;
  `,
  // The vectors of the memory index. `vector` of a snippet is the key of the model that made its vector, or 0. The key of a later model is
  // higher.
  `
  ALTER TABLE memory_snippets ADD COLUMN vector INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX memory_snippets_by_vector ON memory_snippets (vector);
  CREATE TABLE memory_models (key INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, dimensions INTEGER NOT NULL) STRICT;
  CREATE TABLE memory_vectors (snippet INTEGER PRIMARY KEY, model INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
  `,
  // `memory_behind` has the conversations with entries that are not in the memory index. An index over `memory_seq` and `last_seq` would be
  // written by every append.
  `
  DROP INDEX conversations_not_in_memory;
  CREATE TABLE memory_behind (conversation INTEGER PRIMARY KEY REFERENCES conversations (key) ON DELETE CASCADE) STRICT;
  INSERT INTO memory_behind SELECT key FROM conversations WHERE memory_seq < last_seq;
  `,
  // The terms of texts have changed again, so the memory index is built again. The vectors are removed too, because the numbers of the
  // snippets change.
  `
  DELETE FROM memory_owners;
  DELETE FROM memory_documents;
  DELETE FROM memory_postings;
  DELETE FROM memory_snippets;
  DELETE FROM memory_vectors;
  DELETE FROM memory_turns;
  UPDATE conversations SET memory_seq = 0;
  INSERT OR IGNORE INTO memory_behind SELECT key FROM conversations WHERE last_seq > 0;
  `,
  // Events that are offered at a later time. A schedule that does not fire any more has no `next_at`. Its row stays, because the numbering
  // of its events continues if the schedule is added again. `removed` says that it can be added again. `fired_at` is when it last fired.
  `
  CREATE TABLE schedules (
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    schedule TEXT NOT NULL,
    body TEXT NOT NULL,
    every INTEGER,
    next_at TEXT,
    fired INTEGER NOT NULL DEFAULT 0,
    fired_at TEXT,
    removed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (conversation, schedule)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX schedules_by_time ON schedules (next_at) WHERE next_at IS NOT NULL;
  CREATE INDEX schedules_by_last_time ON schedules (fired_at) WHERE next_at IS NOT NULL AND fired_at IS NOT NULL;
  `,
  // The work list. `free_at` is a computed column. It has the time from which the conversation can be claimed, or null when the
  // conversation has no work, is parked, or belongs to a sub-agent. A process with an older version of Daybook may still have the file
  // open. Such a process does not count attempts.
  `
  ALTER TABLE conversations ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE conversations ADD COLUMN attempt_seq INTEGER;
  ALTER TABLE conversations ADD COLUMN retry_at TEXT;
  ALTER TABLE conversations ADD COLUMN parked_at TEXT;
  ALTER TABLE conversations ADD COLUMN failure TEXT;
  ALTER TABLE conversations ADD COLUMN offered_at TEXT;
  ALTER TABLE conversations ADD COLUMN tenant TEXT GENERATED ALWAYS AS
    (CASE WHEN length(id) - length(replace(id, '/', '')) = 3 THEN substr(id, 1, instr(id, '/') - 1) ELSE '' END) VIRTUAL;
  ALTER TABLE conversations ADD COLUMN free_at TEXT GENERATED ALWAYS AS
    (CASE WHEN deleted_at IS NULL AND parked_at IS NULL AND work_at IS NOT NULL AND instr(substr(id, length(folder) + 1), '~call_') = 0
     THEN max(CASE WHEN offers IS NOT NULL THEN coalesce(offered_at, '') ELSE work_at END, coalesce(lease_expires_at, ''), coalesce(retry_at, ''))
     END) VIRTUAL;
  CREATE INDEX conversations_to_claim ON conversations (tenant, free_at) WHERE free_at IS NOT NULL;
  CREATE INDEX conversations_by_claim_time ON conversations (free_at) WHERE free_at IS NOT NULL;
  CREATE INDEX conversations_parked ON conversations (last_activity_at DESC, id) WHERE deleted_at IS NULL AND parked_at IS NOT NULL;
  CREATE TABLE tenants (tenant TEXT PRIMARY KEY, last_served INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
  // Receipts of deletions. `subject` is the hash of a user or tenant. While a deletion runs, `receipt_conversations` has its conversations,
  // and `receipt_blobs` has the blobs that stay because other conversations refer to them.
  `
  CREATE TABLE receipts (
    number INTEGER PRIMARY KEY,
    receipt TEXT NOT NULL UNIQUE,
    subject TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT
  ) STRICT;
  CREATE UNIQUE INDEX receipts_unfinished ON receipts (subject) WHERE finished_at IS NULL;
  CREATE INDEX receipts_by_subject ON receipts (subject, number);
  CREATE TABLE receipt_counts (
    receipt TEXT NOT NULL,
    name TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (receipt, name)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE receipt_conversations (
    conversation INTEGER PRIMARY KEY REFERENCES conversations (key) ON DELETE CASCADE,
    receipt TEXT NOT NULL,
    files_counted INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX receipt_conversations_by_receipt ON receipt_conversations (receipt);
  CREATE TABLE receipt_blobs (receipt TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (receipt, sha256)) STRICT, WITHOUT ROWID;
  `,
  // Budgets, in tokens and in millionths of a US dollar. A reservation is valid while its conversation has a lease with the epoch of the
  // reservation. There is no foreign key to the conversation: if removing a conversation also removed its reservations, `reserved` of the
  // budget would no longer be the sum of its reservations.
  `
  CREATE TABLE budgets (
    name TEXT PRIMARY KEY,
    limits TEXT,
    extra_tokens INTEGER NOT NULL,
    extra_micros INTEGER NOT NULL,
    spent_tokens INTEGER NOT NULL,
    spent_micros INTEGER NOT NULL,
    reserved_tokens INTEGER NOT NULL,
    reserved_micros INTEGER NOT NULL,
    day TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX budgets_with_limits ON budgets (name) WHERE limits IS NOT NULL;
  CREATE TABLE reservations (
    name TEXT NOT NULL REFERENCES budgets (name) ON DELETE CASCADE,
    conversation INTEGER NOT NULL,
    slot TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    micros INTEGER NOT NULL,
    PRIMARY KEY (name, conversation, slot)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX reservations_by_conversation ON reservations (conversation, slot);
  `,
]

export const SCHEMA_VERSION = migrations.length

/** The letters "dayb" in ASCII. Programs such as `file` recognise a Daybook database by this number. */
export const APPLICATION_ID = 0x64617962
