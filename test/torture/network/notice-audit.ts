import { withClient } from '../../postgres/run-databases.js';

/** Writes down, with a trigger, when the result of an attempt at a notice was stored. */
const install = `
  CREATE TABLE audit_notices (n bigint GENERATED ALWAYS AS IDENTITY, source text, id text, at bigint);
  CREATE FUNCTION audit_notice() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO audit_notices (source, id, at) VALUES (NEW.body::json ->> 'source', NEW.body::json ->> 'id',
      extract(epoch FROM clock_timestamp()) * 1000);
    RETURN NULL;
  END $$;
  CREATE TRIGGER audit_notice_tried AFTER UPDATE ON notice_rows FOR EACH ROW
    WHEN (new.state = 'delivered' AND old.state <> 'delivered') EXECUTE FUNCTION audit_notice()`;

export const installNoticeAudit = (url: string): Promise<void> =>
  withClient(url, async (client) => void (await client.query(install)));
