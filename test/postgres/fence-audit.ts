import { withClient } from './run-databases.js';

/*
 * Records which process wrote what under which fence with database triggers, independent of the program under
 * test. Every process connects under its own application name. Companies and rounds are left out: their attempts have
 * numbers of their own and need no lease.
 */
const install = `
  CREATE TABLE audit_taken (source_no int, fence bigint, life text, PRIMARY KEY (source_no, fence));
  CREATE TABLE audit_written (n bigint GENERATED ALWAYS AS IDENTITY, source_no int, fence bigint, life text, what text);
  CREATE FUNCTION audit_taking() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO audit_taken VALUES (NEW.source_no, NEW.fence, current_setting('application_name'));
    RETURN NULL;
  END $$;
  CREATE TRIGGER audit_lease_taken AFTER INSERT ON leases FOR EACH ROW EXECUTE FUNCTION audit_taking();
  CREATE TRIGGER audit_lease_moved AFTER UPDATE ON leases FOR EACH ROW WHEN (old.fence IS DISTINCT FROM new.fence)
    EXECUTE FUNCTION audit_taking();
  CREATE FUNCTION audit_writing() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE no int := CASE TG_TABLE_NAME WHEN 'sources' THEN to_jsonb(NEW) ->> 'no' ELSE to_jsonb(NEW) ->> 'source_no' END;
  BEGIN
    INSERT INTO audit_written (source_no, fence, life, what)
    SELECT no, max(l.fence), current_setting('application_name'), TG_TABLE_NAME FROM leases l WHERE l.source_no = no;
    RETURN NULL;
  END $$;
  CREATE TRIGGER audit_sources AFTER UPDATE ON sources FOR EACH ROW
    WHEN (to_jsonb(OLD) - 'last_committed_at' IS DISTINCT FROM to_jsonb(NEW) - 'last_committed_at')
    EXECUTE FUNCTION audit_writing();
  CREATE TRIGGER audit_changes AFTER INSERT ON change_rows FOR EACH ROW
    WHEN (NEW.about IS NULL) EXECUTE FUNCTION audit_writing();
  CREATE TRIGGER audit_ticks AFTER INSERT ON tick_rows FOR EACH ROW EXECUTE FUNCTION audit_writing()`;

export const installAudit = (url: string): Promise<void> =>
  withClient(url, async (client) => void (await client.query(install)));

export interface Audited {
  /** Claims of a source, and writes to one. */
  readonly takings: number;
  readonly writes: number;
  /** Sources that moved from one process to another. */
  readonly handovers: number;
  /** Writes by a process without the newest fence of its source. */
  readonly stale: readonly string[];
}

export const audited = (url: string): Promise<Audited> =>
  withClient(url, async (client) => {
    const { rows: stale } = await client.query<{ told: string }>(
      `SELECT format('%s of source %s under fence %s by %s, which is of %s', what, w.source_no, w.fence, w.life, t.life) AS told
       FROM audit_written w LEFT JOIN audit_taken t USING (source_no, fence)
       WHERE t.life IS DISTINCT FROM w.life ORDER BY n`,
    );
    const { rows } = await client.query<{ takings: number; writes: number; handovers: number }>(
      `SELECT (SELECT count(*)::int FROM audit_taken) AS takings, (SELECT count(*)::int FROM audit_written) AS writes,
              (SELECT count(*)::int FROM (
                 SELECT life <> lag(life) OVER (PARTITION BY source_no ORDER BY fence) AS other FROM audit_taken
               ) AS taken WHERE other) AS handovers`,
    );
    const [counts = { takings: 0, writes: 0, handovers: 0 }] = rows;
    return { ...counts, stale: stale.map(({ told }) => told) };
  });
