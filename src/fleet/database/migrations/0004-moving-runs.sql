-- What another host needs to go on with a run, once its base is at the hub; where it is worked on, as host/worktree; how
-- often that changed. Without a place only the hub has its work.
ALTER TABLE run ADD COLUMN moving json, ADD COLUMN place text, ADD COLUMN moves int NOT NULL DEFAULT 0;

-- Large content that the journal of a run only names.
CREATE TABLE blob (run text NOT NULL, address text NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (run, address));
