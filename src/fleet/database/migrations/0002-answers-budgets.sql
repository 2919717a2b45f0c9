-- Why a host could not pass an answer on; the question can then be answered again.
ALTER TABLE answer ADD COLUMN outcome text;

-- What may be spent in a calendar month, by everybody on a repository or by one person.
CREATE TABLE budget (
  repository text REFERENCES repository ON DELETE CASCADE, person text, tokens bigint, cost numeric,
  CHECK ((repository IS NULL) <> (person IS NULL)), CHECK (tokens IS NOT NULL OR cost IS NOT NULL));
CREATE UNIQUE INDEX budget_of ON budget (coalesce(repository, ''), coalesce(person, ''));
CREATE INDEX usage_job ON usage (job);
