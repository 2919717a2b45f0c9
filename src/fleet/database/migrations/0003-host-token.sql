-- The hash of what a host shows at the hub. It goes with the session: another one replaces it.
ALTER TABLE host ADD COLUMN token bytea;
