import { randomInt } from 'node:crypto';
import { ReefError } from '../protocol/errors.ts';
import type { Sqlite } from './driver.ts';

/** Released entries are never edited: a change of schema is a new entry. */
const migrations: readonly string[] = [
  `
  CREATE TABLE event (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, job_id TEXT NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL);
  CREATE INDEX event_job ON event (job_id, seq);
  CREATE INDEX event_at ON event (at);
  CREATE TABLE job (id TEXT PRIMARY KEY, key TEXT UNIQUE, status TEXT NOT NULL, parent_id TEXT, ended_seq INTEGER, doc TEXT NOT NULL, runtime TEXT NOT NULL);
  CREATE INDEX job_status ON job (status);
  CREATE INDEX job_ended ON job (ended_seq) WHERE ended_seq IS NOT NULL;
  CREATE INDEX job_parent ON job (parent_id) WHERE parent_id IS NOT NULL;
  CREATE TABLE question (job_id TEXT NOT NULL, question_id TEXT NOT NULL, request_id TEXT NOT NULL, state TEXT NOT NULL, doc TEXT NOT NULL,
    asked_at TEXT NOT NULL, launch INTEGER NOT NULL, line_offset INTEGER NOT NULL, line_bytes INTEGER NOT NULL, answer TEXT, PRIMARY KEY (job_id, question_id)) WITHOUT ROWID;
  CREATE INDEX question_open ON question (state) WHERE state != 'closed';
  CREATE TABLE outbox (n INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, job_id TEXT NOT NULL, ref TEXT NOT NULL, state TEXT NOT NULL, doc TEXT NOT NULL);
  CREATE INDEX outbox_open ON outbox (job_id, n) WHERE state IN ('new', 'writing', 'written');
  CREATE TABLE allowed (fingerprint TEXT NOT NULL, job_id TEXT NOT NULL, at TEXT NOT NULL, by TEXT NOT NULL, PRIMARY KEY (fingerprint, job_id)) WITHOUT ROWID;
  CREATE TABLE audit (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, by TEXT NOT NULL, surface TEXT NOT NULL, operation TEXT NOT NULL, target TEXT, outcome TEXT NOT NULL);
  `,
  `
  CREATE TABLE journal (run_id TEXT NOT NULL, n INTEGER NOT NULL, at TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
    data TEXT NOT NULL CHECK (length(CAST(data AS BLOB)) <= 65536), PRIMARY KEY (run_id, n), UNIQUE (run_id, kind, key)) WITHOUT ROWID;
  CREATE INDEX journal_kind ON journal (kind, run_id);
  CREATE TRIGGER journal_is_not_changed BEFORE UPDATE ON journal BEGIN SELECT raise(ABORT, 'a journal entry is never changed'); END;
  CREATE TRIGGER journal_is_not_deleted BEFORE DELETE ON journal BEGIN SELECT raise(ABORT, 'a journal entry is never deleted'); END;
  CREATE TABLE journal_attempt (run_id TEXT NOT NULL, key TEXT NOT NULL, attempt INTEGER NOT NULL, PRIMARY KEY (run_id, key)) WITHOUT ROWID;
  CREATE TABLE journal_blob (address TEXT PRIMARY KEY, bytes BLOB NOT NULL);
  CREATE TRIGGER journal_blob_is_not_changed BEFORE UPDATE ON journal_blob BEGIN SELECT raise(ABORT, 'a journal entry is never changed'); END;
  CREATE TRIGGER journal_blob_is_not_deleted BEFORE DELETE ON journal_blob BEGIN SELECT raise(ABORT, 'a journal entry is never deleted'); END;
  `,
  `
  CREATE TABLE worktree (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, repository TEXT NOT NULL, task_id TEXT NOT NULL, status TEXT NOT NULL,
    open INTEGER NOT NULL, doc TEXT NOT NULL, UNIQUE (repository, task_id));
  CREATE INDEX worktree_open ON worktree (repository, n) WHERE open = 1;
  `,
  `
  CREATE TABLE run (id TEXT PRIMARY KEY, key TEXT UNIQUE, worktree_id TEXT NOT NULL, state TEXT NOT NULL, doc TEXT NOT NULL);
  CREATE INDEX run_worktree ON run (worktree_id);
  CREATE INDEX run_open ON run (id) WHERE state != 'over';
  CREATE TABLE block_job (job_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, block TEXT NOT NULL, visit INTEGER NOT NULL, branch TEXT NOT NULL,
    schema TEXT NOT NULL, result TEXT) WITHOUT ROWID;
  CREATE INDEX block_job_run ON block_job (run_id);
  `,
  `
  CREATE TABLE gate_verdict (n INTEGER PRIMARY KEY, run_id TEXT NOT NULL, branch TEXT NOT NULL, block TEXT NOT NULL, visit INTEGER NOT NULL,
    gate TEXT NOT NULL, result TEXT NOT NULL, tree TEXT, UNIQUE (run_id, branch, block, visit, result));
  `,
  'ALTER TABLE question ADD COLUMN whole TEXT;',
  `
  ALTER TABLE gate_verdict RENAME TO old_verdict;
  CREATE TABLE gate_verdict (n INTEGER PRIMARY KEY, run_id TEXT NOT NULL, branch TEXT NOT NULL, block TEXT NOT NULL, visit INTEGER NOT NULL,
    gate TEXT NOT NULL, result TEXT NOT NULL, tree TEXT, key TEXT, UNIQUE (run_id, branch, block, visit, gate, result));
  INSERT INTO gate_verdict (n, run_id, branch, block, visit, gate, result, tree)
    SELECT n, run_id, branch, block, visit, gate, result, tree FROM old_verdict;
  DROP TABLE old_verdict;
  CREATE INDEX gate_verdict_tree ON gate_verdict (tree, key) WHERE result = 'passed';
  `,
  'CREATE TABLE base_failure (tree TEXT NOT NULL, key TEXT NOT NULL, failures TEXT NOT NULL, PRIMARY KEY (tree, key)) WITHOUT ROWID;',
  `
  CREATE TABLE retired (id TEXT PRIMARY KEY, at TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE past_usage (id TEXT PRIMARY KEY, parent_id TEXT, run_id TEXT, agent TEXT NOT NULL, model TEXT, created_at TEXT NOT NULL, usage TEXT NOT NULL) WITHOUT ROWID;
  DROP TRIGGER journal_is_not_deleted;
  CREATE TRIGGER journal_is_not_deleted BEFORE DELETE ON journal WHEN NOT EXISTS (SELECT 1 FROM retired WHERE id = old.run_id)
    BEGIN SELECT raise(ABORT, 'a journal entry is never deleted while its run is kept'); END;
  DROP TRIGGER journal_blob_is_not_deleted;
  CREATE TRIGGER journal_blob_is_not_deleted BEFORE DELETE ON journal_blob WHEN NOT EXISTS (SELECT 1 FROM retired WHERE id = old.address)
    BEGIN SELECT raise(ABORT, 'a journal entry is never deleted while its run is kept'); END;
  `,
  `
  CREATE TABLE moment (seq INTEGER PRIMARY KEY, at TEXT NOT NULL);
  INSERT INTO moment SELECT min(seq), at FROM event GROUP BY at;
  CREATE INDEX moment_at ON moment (at);
  DROP INDEX event_at;
  `,
];

/** Of a new database, and of every one that an older Reef wrote. */
const SHARED_IDS = [0, 0x52454546];

/** Each step commits with its version number: after a kill the schema is the old one or the new one. */
export function migrate(database: Sqlite, steps: readonly string[] = migrations): void {
  const version = Number(database.pragma('user_version'));
  if (version > steps.length) {
    throw new ReefError('store_too_new', `the database has schema ${version}, this Reef knows up to ${steps.length}`);
  }
  for (const [index, sql] of steps.entries()) {
    if (index < version) continue;
    database.transaction(() => {
      database.exec(sql);
      database.pragma(`user_version = ${index + 1}`);
    });
  }
  // The number that a database carries in its head is the identity of its log of events.
  if (SHARED_IDS.includes(Number(database.pragma('application_id'))))
    database.pragma(`application_id = ${randomInt(1, 2 ** 31)}`);
}
