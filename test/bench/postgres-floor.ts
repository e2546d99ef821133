import pg from 'pg';
import { Agent, fetch } from 'undici';
import { floorColumns } from './floor-columns.js';
import { feedPath } from './floors.js';

/** Which expression yields each column from a record `e`; all others are text under their own name. */
const from: Readonly<Record<string, string>> = {
  company_id: "e ->> 'company'",
  offering_id: "e ->> 'offering'",
  investor_id: "e -> 'investor' ->> 'id'",
  group_label: "e ->> 'group'",
  currency: "e -> 'amounts' ->> 'currency'",
  committed_cents: "(e -> 'amounts' ->> 'committed_cents')::bigint",
  investment_size_cents: "(e -> 'amounts' ->> 'investment_size_cents')::bigint",
  in_escrow_cents: "(e -> 'amounts' ->> 'in_escrow_cents')::bigint",
  raised_cents: "(e -> 'amounts' ->> 'raised_cents')::bigint",
  needs_whitelisting: "(e ->> 'needs_whitelisting')::boolean",
  visible: "(e ->> 'visible')::boolean",
  investor_deactivated: "(e -> 'investor' ->> 'deactivated')::boolean",
  via_entity: "(e -> 'investor' ->> 'via_entity')::boolean",
  extra: 'NULL::text',
  email_hidden: 'false',
  address_line: "e -> 'investor' -> 'address' ->> 'line'",
  ...Object.fromEntries(
    ['name', 'legal_name', 'email', 'bio'].map((name) => [name, `e -> 'investor' ->> '${name}'`]),
  ),
  ...Object.fromEntries(
    ['city', 'state', 'postal_code', 'country'].map((name) => [
      name,
      `e -> 'investor' -> 'address' ->> '${name}'`,
    ]),
  ),
};

const expressions = floorColumns.map((name) => from[name] ?? `e ->> '${name}'`);
const [, ...others] = floorColumns;

const tables = `
  CREATE TABLE at (cursor text);
  INSERT INTO at VALUES (NULL);
  CREATE TABLE rows AS SELECT ${floorColumns.map((name, at) => `${expressions[at]} AS ${name}`).join(', ')}
    FROM (SELECT '{}'::jsonb AS e) AS none WHERE false;
  ALTER TABLE rows ADD PRIMARY KEY (id);`;

const page = `
  WITH written AS (
    INSERT INTO rows (${floorColumns.join(', ')})
    SELECT ${expressions.join(', ')} FROM jsonb_array_elements($1::jsonb -> 'data') AS e
    ON CONFLICT (id) DO UPDATE SET ${others.map((name) => `${name} = excluded.${name}`).join(', ')})
  UPDATE at SET cursor = $2`;

/** Writes a whole listing, each page with one statement in its own commit. */
export async function listInto(database: string, baseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: database });
  const agent = new Agent({ connections: 1 });
  await client.connect();
  try {
    await client.query(tables);
    let cursor: string | undefined;
    for (let more = true; more; ) {
      const url = `${baseUrl}${feedPath}${cursor === undefined ? '' : `&cursor=${cursor}`}`;
      const text = await (await fetch(url, { dispatcher: agent })).text();
      const tail = text.slice(-300);
      more = tail.includes('"has_more":true');
      cursor = /"next_cursor":"([^"]+)"/.exec(tail)?.[1] ?? '';
      await client.query({ name: 'page', text: page, values: [text, cursor] });
    }
  } finally {
    await client.end();
    await agent.destroy();
  }
}
