import { withClient } from './run-databases.js';

/*
 * Records every commit that a power cut could lose although it contains something that must survive one: an accepted
 * delivery, a change that readers of the feed have seen, or an erasure. The triggers run at COMMIT, when a transaction has
 * its last setting, and know nothing of the program under test. Companies and rounds are left out: they are fetched again.
 */
const install = `
  CREATE TABLE audit_undurable (n bigint GENERATED ALWAYS AS IDENTITY, life text, what text);
  CREATE FUNCTION audit_durability() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
      INSERT INTO audit_undurable (life, what) VALUES (current_setting('application_name'), TG_TABLE_NAME);
    END IF;
    RETURN NULL;
  END $$;
  CREATE CONSTRAINT TRIGGER audit_durable AFTER INSERT ON rosterd_identity.webhook_inbox DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION audit_durability();
  CREATE CONSTRAINT TRIGGER audit_durable AFTER INSERT ON change_rows DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.about IS NULL) EXECUTE FUNCTION audit_durability();
  CREATE CONSTRAINT TRIGGER audit_durable AFTER INSERT ON erasures DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION audit_durability()`;

export const installDurabilityAudit = (url: string): Promise<void> =>
  withClient(url, async (client) => void (await client.query(install)));

/** Returns one line for each row that a commit without a wait for the disk contained. */
export const undurable = (url: string): Promise<readonly string[]> =>
  withClient(url, async (client) => {
    const { rows } = await client.query<{ told: string }>(
      "SELECT format('%s by %s in a commit that does not wait for the disk', what, life) AS told FROM audit_undurable ORDER BY n",
    );
    return rows.map(({ told }) => told);
  });
