/** The SQL of the first version of the schema. `docs/format.md` describes the tables. */
export const firstTables = `
  CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO counters VALUES ('claims', 0);

  CREATE TABLE conversations (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT,
    started_at TEXT,
    last_activity_at TEXT NOT NULL DEFAULT '',
    open_turn TEXT,
    last_seq INTEGER NOT NULL DEFAULT 0,
    indexed_seq INTEGER NOT NULL DEFAULT 0,
    next_block INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL,
    owner_id TEXT,
    owner_host TEXT,
    owner_pid INTEGER,
    lease_expires_at TEXT
  ) STRICT;

  CREATE TABLE journal (
    entry INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    ts TEXT NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE VIEW entries AS
    SELECT id AS conversation, entry & 4294967295 AS seq, type, ts, body FROM journal JOIN conversations ON key = entry >> 32;

  CREATE TABLE sources (
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    PRIMARY KEY (conversation, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE blocks (
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (conversation, number)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE paths (
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    path TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (conversation, path, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE calls (
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    call TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (conversation, call, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE turns (
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    turn TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (conversation, turn, seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE frames (
    conversation INTEGER PRIMARY KEY REFERENCES conversations (key) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;

  CREATE TABLE blob_refs (
    conversation INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (conversation, seq, sha256)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX blob_refs_by_hash ON blob_refs (sha256);
  CREATE TABLE unreferenced_blobs (sha256 TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  `
