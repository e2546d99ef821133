import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fetch } from 'undici';
import { feedPath } from './floors.js';

/*
 * The upsert of a comparable product, as a process: `peer.ts FOLDER_OF_PACKAGES FEED_URL`, with its database in
 * BENCH_DATABASE. Prints how many seconds it took for every record of the feed, each passed as that product's own
 * customer object.
 */

const peerPackage = '@supabase/stripe-sync-engine';

interface PeerPackage {
  readonly StripeSync: new (config: {
    readonly poolConfig: { readonly connectionString: string; readonly max: number };
    readonly schema: string;
    readonly stripeSecretKey: string;
    readonly stripeWebhookSecret: string;
  }) => {
    upsertCustomers(customers: readonly object[]): Promise<unknown>;
    readonly postgresClient: {
      query(sql: string): Promise<{ readonly rows: readonly { readonly held: number }[] }>;
      close(): Promise<void>;
    };
  };
  runMigrations(config: { readonly databaseUrl: string; readonly schema: string }): Promise<void>;
}

interface Page {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly meta: { readonly has_more: boolean; readonly next_cursor: string };
}

const [folder = '', url = ''] = process.argv.slice(2);
const database = process.env.BENCH_DATABASE ?? '';
const engine: PeerPackage = createRequire(join(folder, 'package.json'))(peerPackage);
await engine.runMigrations({ databaseUrl: database, schema: 'stripe' });
const sync = new engine.StripeSync({
  poolConfig: { connectionString: database, max: 10 },
  schema: 'stripe',
  stripeSecretKey: 'sk_test_bench',
  stripeWebhookSecret: 'whsec_bench',
});
const began = performance.now();
let cursor = '';
let sent = 0;
for (let more = true; more; ) {
  const { data, meta } = (await (await fetch(`${url}${feedPath}${cursor}`)).json()) as Page;
  await sync.upsertCustomers(data.map(customerOf));
  sent += data.length;
  more = meta.has_more;
  cursor = `&cursor=${meta.next_cursor}`;
}
const seconds = (performance.now() - began) / 1000;
const { rows } = await sync.postgresClient.query('SELECT count(*)::integer AS held FROM stripe.customers');
if (rows[0]?.held !== sent) throw new Error(`the peer stored ${rows[0]?.held} of ${sent} objects`);
await sync.postgresClient.close();
console.log(JSON.stringify({ seconds }));

/**
 * Builds an object with as many values as such a record has, in the columns the other product has for them.
 */
function customerOf(record: Readonly<Record<string, unknown>>): object {
  const investor = (record.investor ?? {}) as Readonly<Record<string, unknown>>;
  const { name, email, address, bio, ...others } = investor;
  const { id, message, amounts, contracts, blockers, ...rest } = record;
  return {
    id,
    object: 'customer',
    name,
    email,
    address,
    description: bio,
    created: 1_760_000_000,
    livemode: false,
    balance: 0,
    currency: 'usd',
    delinquent: false,
    invoice_prefix: 'BENCH',
    metadata: { ...rest, investor: others, message, amounts, contracts, blockers },
    preferred_locales: [],
    invoice_settings: {},
    next_invoice_sequence: 1,
    tax_exempt: 'none',
  };
}
