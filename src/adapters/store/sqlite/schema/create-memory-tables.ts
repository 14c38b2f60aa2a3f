/**
 * The SQL that creates the tables of the memory index. A later step of the schema changes these tables. This step must not change, because
 * existing databases have run it. `memory_seq` is the last entry that is in the index. A process with an older version of Daybook may still
 * have the file open, and it writes entries without indexing them. In this case `memory_seq` is lower than `last_seq`, and a process with a
 * newer version indexes these entries.
 */
export const createMemoryTables = `
  ALTER TABLE conversations ADD COLUMN memory_seq INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX conversations_not_in_memory ON conversations (folder, id) WHERE deleted_at IS NULL AND memory_seq < last_seq;
  CREATE TABLE memory_owners (
    key INTEGER PRIMARY KEY,
    folder TEXT NOT NULL UNIQUE,
    next INTEGER NOT NULL,
    snippets INTEGER NOT NULL,
    terms INTEGER NOT NULL,
    conversations INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE memory_conversations (
    conversation INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    snippets INTEGER NOT NULL,
    terms INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE memory_snippets (
    snippet INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    block INTEGER NOT NULL,
    part INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    turn TEXT NOT NULL,
    role TEXT NOT NULL,
    ts TEXT NOT NULL,
    path TEXT NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX memory_snippets_by_block ON memory_snippets (conversation, block, part);
  CREATE TABLE memory_documents (
    owner INTEGER NOT NULL,
    snippets INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, snippets)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE memory_postings (
    owner INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    term INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, chunk, term)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE memory_turns (
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    turn TEXT NOT NULL,
    seq INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    PRIMARY KEY (conversation, turn)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX memory_turns_in_order ON memory_turns (conversation, seq);
  `
