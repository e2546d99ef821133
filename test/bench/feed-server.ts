import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/*
 * A feed of made-up records in a process of its own, as cheap as it can be, so that what is measured is the reader:
 * pages of text put together from a template, an end position, and on `POST /change` one record that changed.
 * Run by `measure.ts`; prints its port.
 */

const records = Number(process.argv[2]);
const latencyMs = Number(process.argv[3] ?? 0);
const perPage = 100;
const observed = '2026-10-20T09:30:04.000Z';
let changed: number | null = null;
let version = 0;

/** The id looks random, as real ones do: a sequential one would flatter every index. */
function idOf(no: number): string {
  const mixed = Math.imul(no + 1, 0x9e3779b1) >>> 0;
  return `inv_${mixed.toString(36).padStart(7, '0')}${no.toString(36).padStart(5, '0')}bench0000`;
}

const statuses = ['active', 'executed', 'reserved', 'active', 'active'];

function record(no: number, committed: number, extra: string): string {
  const cents = committed + (no % 977) * 100;
  const day = String(1 + (no % 28)).padStart(2, '0');
  return (
    `{"id":"${idOf(no)}","visible":true,"status":"${statuses[no % 5]}","converted_to":null,"converted_from":null,` +
    `"offering":"ofr_bench${no % 7}","company":"co_bench","investment_type":"SAFE","offering_type":"Reg CF",` +
    `"group":"CONFIRMED","applied_at":"2026-0${1 + (no % 9)}-${day}T11:00:00.000Z","amounts":{"currency":"usd",` +
    `"committed_cents":${cents},"investment_size_cents":${cents},"in_escrow_cents":0,"raised_cents":${cents}},` +
    `"shares":null,"average_share_price":null,"needs_whitelisting":false,"external_username":null,` +
    `"message":"Glad to back the team, number ${no}, and looking forward to the next update of yours.",` +
    `"investor":{"id":"usr_bench${no % 50_000}","deactivated":false,"via_entity":false,"name":"Bench Person ${no}",` +
    `"legal_name":"Bench Legal Person ${no}","email":"bench${no}@people.example","address":{"line":"${no} Harbour Row",` +
    `"city":"Portland","state":"ME","postal_code":"0${4000 + (no % 999)}","country":"United States"},` +
    `"bio":"Invests in things that last; number ${no} of many who do."},"blockers":[],` +
    `"contracts":[{"name":"Subscription Agreement","override_amount_cents":null,"early_bird":false}],` +
    `"observed_at":"${observed}"${extra}}`
  );
}

function listingPage(from: number): string {
  const end = Math.min(records, from + perPage);
  const rows: string[] = [];
  for (let no = from; no < end; no += 1) rows.push(record(no, 100_000, ',"cursor":null,"reason":null'));
  const more = end < records;
  return page(rows, 'bootstrap', more, more ? `p${end}` : `c${version}`);
}

function deltaPage(): string {
  const rows =
    changed === null
      ? []
      : [record(changed, 100_000 + version, `,"cursor":"c${version}","reason":"changed"`)];
  changed = null;
  return page(rows, 'delta', false, `c${version}`);
}

function page(rows: readonly string[], mode: string, more: boolean, next: string): string {
  return `{"data":[${rows.join(',')}],"meta":{"mode":"${mode}","has_more":${more},"page_count":${rows.length},"next_cursor":"${next}","published_through":"${new Date().toISOString()}"}}`;
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://feed');
  if (request.method === 'POST') {
    changed = Number(url.searchParams.get('no') ?? 0);
    version += 1;
    response.end(idOf(changed));
    return;
  }
  const cursor = url.searchParams.get('cursor') ?? '';
  const sync = url.searchParams.has('updated_since') || cursor.startsWith('c');
  const body = sync ? deltaPage() : listingPage(cursor === '' ? 0 : Number(cursor.slice(1)));
  const send = () => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  };
  if (latencyMs > 0) setTimeout(send, latencyMs);
  else send();
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit(0));
