-- The newest migration that a writer knows. Versions before this column leave it out, so a process of such a version that
-- resumes after the migration can neither join the fleet nor take a lease. Nobody is a member while a migration runs.
ALTER TABLE fleet_members ADD COLUMN schema integer NOT NULL;
ALTER TABLE leases ADD COLUMN schema integer NOT NULL DEFAULT 0;
ALTER TABLE leases ALTER COLUMN schema DROP DEFAULT;
