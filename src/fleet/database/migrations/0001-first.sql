CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);

-- Repositories, people and what they may.
CREATE TABLE repository (
  id text PRIMARY KEY, name text NOT NULL UNIQUE, url text NOT NULL, default_branch text NOT NULL DEFAULT 'main',
  cap int NOT NULL DEFAULT 8 CHECK (cap > 0), weight int NOT NULL DEFAULT 1 CHECK (weight > 0),
  running int NOT NULL DEFAULT 0 CHECK (running >= 0), trust jsonb, created_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE person (
  id text PRIMARY KEY, name text NOT NULL UNIQUE, role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  may_merge boolean NOT NULL DEFAULT false, repositories text[], created_at timestamptz NOT NULL DEFAULT now(), disabled_at timestamptz);
CREATE TABLE token (
  hash bytea PRIMARY KEY, person text NOT NULL REFERENCES person, device text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(), expires_at timestamptz NOT NULL, revoked_at timestamptz);
CREATE INDEX token_person ON token (person);
CREATE TABLE audit (
  seq bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), by text NOT NULL, surface text NOT NULL,
  operation text NOT NULL, target text, outcome text NOT NULL, host text);
CREATE INDEX audit_at ON audit (at);

-- Hosts and the runs they work on.
CREATE TABLE host (
  id text PRIMARY KEY, boot uuid, epoch bigint NOT NULL DEFAULT 0,
  state text NOT NULL DEFAULT 'up' CHECK (state IN ('up', 'unfit', 'draining', 'lost', 'gone')),
  beat timestamptz, beat_ms int, free_bytes bigint, fenced_at timestamptz, backend_pid int, labels text[] NOT NULL DEFAULT '{}',
  slots int NOT NULL DEFAULT 0, used int NOT NULL DEFAULT 0, version text, interpreter int, session_since timestamptz);
CREATE TABLE run (
  id text PRIMARY KEY, repository text NOT NULL REFERENCES repository, task text NOT NULL, spec jsonb NOT NULL DEFAULT '{}',
  status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'parked', 'halted', 'ended', 'cancelled')),
  needs text[] NOT NULL DEFAULT '{}', priority int NOT NULL DEFAULT 1, by text NOT NULL, queued_at timestamptz NOT NULL DEFAULT now(),
  host text, epoch bigint, last_host text, known boolean NOT NULL DEFAULT false, version int, lost_count int NOT NULL DEFAULT 0,
  started_at timestamptz, ended_at timestamptz, outcome jsonb);
CREATE INDEX run_queued ON run (repository, queued_at) WHERE status = 'queued';
CREATE INDEX run_host ON run (host) WHERE status IN ('running', 'halted');
CREATE INDEX run_parked ON run (id) WHERE status = 'parked';
CREATE TABLE attempt (
  run text NOT NULL, key text NOT NULL, attempt int NOT NULL, host text NOT NULL, epoch bigint NOT NULL, branch text,
  pid int, start_time text, boot_id text, started_at timestamptz NOT NULL DEFAULT now(), ended_at timestamptz, "commit" text,
  PRIMARY KEY (run, key, attempt));
CREATE INDEX attempt_live ON attempt (host) WHERE ended_at IS NULL;
CREATE TABLE job (
  id text PRIMARY KEY, run text, host text NOT NULL, repository text NOT NULL, agent text NOT NULL, title text NOT NULL,
  status text NOT NULL, doc jsonb NOT NULL, updated_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX job_run ON job (run);

-- What happened, as the hosts ship it. Partitions are made and dropped by the functions below.
CREATE TABLE event (
  host text NOT NULL, n bigint NOT NULL, seq bigint NOT NULL, xid xid8 NOT NULL DEFAULT pg_current_xact_id(), at timestamptz NOT NULL,
  repository text NOT NULL, run text, job text NOT NULL, type text NOT NULL, payload jsonb NOT NULL, PRIMARY KEY (host, n, at)) PARTITION BY RANGE (at);
CREATE INDEX event_cursor ON event (xid, host, n);
CREATE INDEX event_job ON event (job, seq);
CREATE TABLE event_rest PARTITION OF event DEFAULT;
-- How far each home of a host has been shipped, in the numbers of that home; n is the host's own count.
CREATE TABLE ship_mark (host text PRIMARY KEY, n bigint NOT NULL DEFAULT 0, homes jsonb NOT NULL DEFAULT '{}');
CREATE TABLE usage (
  host text NOT NULL, n bigint NOT NULL, at timestamptz NOT NULL, repository text NOT NULL, person text, run text, job text, agent text NOT NULL,
  input bigint NOT NULL DEFAULT 0, output bigint NOT NULL DEFAULT 0, cost numeric NOT NULL DEFAULT 0, PRIMARY KEY (host, n, at)) PARTITION BY RANGE (at);
CREATE INDEX usage_repository ON usage (repository, at);
CREATE INDEX usage_person ON usage (person, at);
CREATE TABLE usage_rest PARTITION OF usage DEFAULT;

-- What people are asked and what they say.
CREATE TABLE question (
  id text PRIMARY KEY, host text NOT NULL, epoch bigint NOT NULL, repository text NOT NULL, run text, job text, key text, doc jsonb NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT now(), closed_at timestamptz, closed_why text, answer text);
CREATE INDEX question_open ON question (opened_at) WHERE closed_at IS NULL;
CREATE TABLE answer (
  id text PRIMARY KEY, question text, run text, key text, value jsonb NOT NULL, by text NOT NULL, at timestamptz NOT NULL DEFAULT now(), delivered_at timestamptz);
-- The first answer wins.
CREATE UNIQUE INDEX answer_first ON answer (question);
CREATE INDEX answer_undelivered ON answer (run, key) WHERE delivered_at IS NULL;
CREATE TABLE command (
  n bigserial PRIMARY KEY, host text NOT NULL, op text NOT NULL, args jsonb NOT NULL, by text NOT NULL, key text UNIQUE,
  state text NOT NULL DEFAULT 'asked' CHECK (state IN ('asked', 'taken', 'done', 'failed')), result jsonb,
  asked_at timestamptz NOT NULL DEFAULT now(), done_at timestamptz);
CREATE INDEX command_open ON command (host, n) WHERE state IN ('asked', 'taken');

-- What landed outside of a host.
CREATE TABLE artifact (
  sha256 text NOT NULL, run text NOT NULL, name text NOT NULL, size bigint NOT NULL, host text NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (run, name));
CREATE INDEX artifact_sha256 ON artifact (sha256);
CREATE TABLE effect (
  key text PRIMARY KEY, run text, kind text NOT NULL, host text NOT NULL, epoch bigint NOT NULL,
  state text NOT NULL DEFAULT 'meant' CHECK (state IN ('meant', 'done')), result jsonb, at timestamptz NOT NULL DEFAULT now());

-- Called first by every transaction that lands something: until it ends nobody can take the host's runs over, and whoever
-- lost them lands nothing.
CREATE FUNCTION fence(host text, epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE current bigint;
BEGIN
  SELECT h.epoch INTO current FROM reef.host h WHERE h.id = fence.host FOR SHARE;
  IF current IS DISTINCT FROM fence.epoch THEN
    RAISE EXCEPTION 'host % is at epoch %, not %', fence.host, coalesce(current::text, 'none'), fence.epoch USING ERRCODE = 'RF001';
  END IF;
END $$;

-- A run that works or has just halted takes a place of its repository; the claim counts it in, this counts it out.
CREATE FUNCTION count_run_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE reef.repository SET running = greatest(running - 1, 0) WHERE id = OLD.repository;
  RETURN NULL;
END $$;
CREATE TRIGGER run_left AFTER UPDATE OF status ON run FOR EACH ROW
  WHEN (OLD.status IN ('running', 'halted') AND NEW.status NOT IN ('running', 'halted')) EXECUTE FUNCTION count_run_out();
CREATE TRIGGER run_deleted AFTER DELETE ON run FOR EACH ROW
  WHEN (OLD.status IN ('running', 'halted')) EXECUTE FUNCTION count_run_out();

-- Partitions of one span ('month' or 'day'), this one and as many more as asked for. A worker has no right to make tables,
-- so that these run as their owner.
CREATE FUNCTION make_partitions(span text, ahead int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = reef, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  parent text; start timestamptz; made int := 0; part text;
BEGIN
  IF span NOT IN ('month', 'day') OR ahead NOT BETWEEN 0 AND 100 THEN RAISE EXCEPTION 'no such span'; END IF;
  PERFORM pg_advisory_xact_lock(hashtext('reef.partitions'));
  FOREACH parent IN ARRAY ARRAY['event', 'usage'] LOOP
    FOR i IN 0..ahead LOOP
      start := date_trunc(span, now(), 'UTC') + (i || ' ' || span)::interval;
      part := parent || '_' || to_char(start AT TIME ZONE 'UTC', CASE span WHEN 'month' THEN 'YYYYMM' ELSE 'YYYYMMDD' END);
      BEGIN
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', part, parent, start, start + ('1 ' || span)::interval);
        made := made + 1;
      EXCEPTION
        -- It is there, by the month where days are asked for, or rows of that time lie in the partition for the rest.
        WHEN duplicate_table OR invalid_object_definition OR check_violation THEN NULL;
      END;
    END LOOP;
  END LOOP;
  RETURN made;
END $$;

-- Drops what is older as a whole, and deletes what is older from the partition for the rest.
CREATE FUNCTION drop_partitions(parent text, before timestamptz) RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = reef, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  part record; dropped text[] := '{}';
BEGIN
  IF parent NOT IN ('event', 'usage') THEN RAISE EXCEPTION 'no such table'; END IF;
  PERFORM pg_advisory_xact_lock(hashtext('reef.partitions'));
  FOR part IN
    SELECT c.relname, substring(pg_get_expr(c.relpartbound, c.oid) FROM $re$TO \('([^']+)'\)$re$)::timestamptz AS upto
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = ('reef.' || parent)::regclass AND c.relname <> parent || '_rest'
  LOOP
    IF part.upto <= before THEN
      EXECUTE format('DROP TABLE %I', part.relname);
      dropped := dropped || part.relname::text;
    END IF;
  END LOOP;
  EXECUTE format('DELETE FROM %I WHERE at < %L', parent || '_rest', before);
  RETURN dropped;
END $$;
REVOKE ALL ON FUNCTION drop_partitions(text, timestamptz) FROM PUBLIC;
SELECT make_partitions('month', 2);
