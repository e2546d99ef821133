import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool, request } from 'undici';
import type { ReadyDocument } from '../../../src/platform/sandbox/document.js';
import { Lifecycle } from '../../../src/runtime/lifecycle.js';
import { measure, median, ratio, type Scale, type Section, times } from '../measures.js';
import { startBareServer, startPlatform } from '../platform-servers.js';

/** Requests in flight at the same time. */
const connections = 8;
const perPage = 100;

interface Ask {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export const platform: Section = {
  name: 'platform',
  each: false,
  says:
    'The platform’s server: requests a second, eight at a time, compared with a bare handler in a separate process that sends ' +
    'the same bytes; a delivery from the change to its arrival, compared with a bare handler that sends such a POST on every ' +
    'request; and what a page of the feed costs at the end of its listing, one at a time.',
  measure: async (scale) => {
    const parts = new Lifecycle();
    try {
      const records = Math.max(...scale.records);
      const ready = await startPlatform(scale, records, parts);
      const [company] = ready.companies;
      const [app] = ready.apps;
      const [user] = ready.users;
      if (company === undefined || app === undefined || user === undefined)
        throw new Error('the sandbox lacks a company, an app or a user');
      const headers = { authorization: `Bearer ${company.token}` };
      const first = `/investments?company_id=${company.id}&per_page=${perPage}`;
      const kinds: readonly (readonly [string, Ask])[] = [
        ['a feed page', { method: 'GET', path: first, headers }],
        [
          'an explore page',
          { method: 'GET', path: '/explore', headers: { authorization: `Bearer ${user.token}` } },
        ],
        ['a token', tokenAsk(app.clientId, app.clientSecret)],
      ];
      const bare = await startBareServer(
        scale,
        await Promise.all(kinds.map(async ([, ask]) => [ask.path, await answerOf(ready.baseUrl, ask)])),
        parts,
      );
      const found = [];
      for (const [name, ask] of kinds) {
        const served: number[] = [];
        const sent: number[] = [];
        for (const _ of times(scale.rounds)) {
          served.push(await perSecond(ready.baseUrl, ask, scale.requests));
          sent.push(await perSecond(bare, ask, scale.requests));
        }
        found.push(ratio(`${name} ÷ bare handler`, served, sent), measure(name, 'req/s', served));
      }
      const last = await lastPageOf(ready.baseUrl, { method: 'GET', path: first, headers });
      const pages = await pagesInTurns(ready.baseUrl, headers, first, last, scale);
      found.push(
        ratio(
          `a feed page at the end ÷ at the start of ${records.toLocaleString('en-US')}`,
          pages.last,
          pages.first,
          {
            most: 1.5,
          },
        ),
      );
      const deliveries = await deliver(scale, ready, bare, parts);
      found.push(
        ratio('deliveries ÷ bare handler', deliveries.platform, deliveries.bare),
        measure('deliveries', 'req/s', deliveries.platform),
      );
      return found;
    } finally {
      await parts.close();
    }
  },
};

function tokenAsk(clientId: string, clientSecret: string): Ask {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  return {
    method: 'POST',
    path: '/oauth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: String(new URLSearchParams(form)),
  };
}

async function answerOf(baseUrl: string, { path, ...ask }: Ask): Promise<string> {
  const response = await request(`${baseUrl}${path}`, { ...ask, body: ask.body ?? null });
  const text = await response.body.text();
  if (response.statusCode !== 200) throw new Error(`${path} answered ${response.statusCode}: ${text}`);
  return text;
}

async function perSecond(baseUrl: string, { path, ...ask }: Ask, count: number): Promise<number> {
  const pool = new Pool(baseUrl, { connections });
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const { statusCode, body } = await pool.request({ ...ask, path, body: ask.body ?? null });
      await body.arrayBuffer();
      if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
    }
  };
  const began = performance.now();
  await Promise.all(times(connections).map(worker));
  const seconds = (performance.now() - began) / 1000;
  await pool.close();
  return count / seconds;
}

/** Returns the path of the last page of a listing. */
async function lastPageOf(baseUrl: string, first: Ask): Promise<string> {
  let path = first.path;
  for (;;) {
    const { meta } = JSON.parse(await answerOf(baseUrl, { ...first, path })) as {
      meta: { has_more: boolean; next_cursor: string };
    };
    if (!meta.has_more) return path;
    path = `${first.path}&cursor=${encodeURIComponent(meta.next_cursor)}`;
  }
}

async function pagesInTurns(
  baseUrl: string,
  headers: Ask['headers'],
  first: string,
  last: string,
  { rounds, requests }: Scale,
): Promise<{ first: number[]; last: number[] }> {
  const found: { first: number[]; last: number[] } = { first: [], last: [] };
  for (const _ of times(rounds)) {
    const took: { first: number[]; last: number[] } = { first: [], last: [] };
    for (const __ of times(Math.ceil(requests / 4))) {
      for (const [which, path] of [['first', first] as const, ['last', last] as const]) {
        const began = performance.now();
        await answerOf(baseUrl, { method: 'GET', path, headers });
        took[which].push(performance.now() - began);
      }
    }
    found.first.push(median(took.first));
    found.last.push(median(took.last));
  }
  return found;
}

/** Returns deliveries received per second; the changes that cause them are sent eight at a time. */
async function deliver(
  scale: Scale,
  ready: ReadyDocument,
  bare: string,
  parts: Lifecycle,
): Promise<{ platform: number[]; bare: number[] }> {
  let body = '{}';
  let arrived = 0;
  let wanted = Number.POSITIVE_INFINITY;
  let all = () => {};
  const receiver = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      body = String(Buffer.concat(chunks));
      response.writeHead(204).end();
      arrived += 1;
      if (arrived >= wanted) all();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  parts.add('receiver', async () => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const json = { 'content-type': 'application/json' };
  const post = async (to: string, method: 'POST' | 'PATCH', what: unknown) => {
    const response = await request(to, { method, headers: json, body: JSON.stringify(what) });
    const text = await response.body.text();
    if (response.statusCode >= 300) throw new Error(`${to} answered ${response.statusCode}: ${text}`);
  };
  await post(`${ready.control}/webhooks`, 'POST', { url, events: ['investment.changed'] });
  const ids = await idsOf(ready);
  const rate = async (cause: (turn: number) => Promise<void>) => {
    arrived = 0;
    wanted = scale.requests;
    const done = new Promise<void>((resolve) => {
      all = resolve;
    });
    let turn = 0;
    const worker = async () => {
      while (turn < scale.requests) await cause(turn++);
    };
    const began = performance.now();
    await Promise.all([...times(connections).map(worker), done]);
    return scale.requests / ((performance.now() - began) / 1000);
  };
  const found: { platform: number[]; bare: number[] } = { platform: [], bare: [] };
  for (const round of times(scale.rounds)) {
    const cents = (turn: number) => 1_000_000 + (round * scale.requests + turn) * 100;
    found.platform.push(
      await rate((turn) =>
        post(`${ready.control}/investments/${ids[turn % ids.length]}`, 'PATCH', {
          amounts: { committed_cents: cents(turn) },
        }),
      ),
    );
    const sample = body;
    found.bare.push(await rate(() => post(`${bare}/deliver`, 'POST', { url, body: sample })));
  }
  return found;
}

async function idsOf({ baseUrl, companies }: ReadyDocument): Promise<string[]> {
  const [company] = companies;
  const path = `/investments?company_id=${company?.id}&per_page=${perPage}`;
  const headers = { authorization: `Bearer ${company?.token}` };
  const { data } = JSON.parse(await answerOf(baseUrl, { method: 'GET', path, headers })) as {
    data: { id: string; status: string }[];
  };
  return data.filter(({ status }) => status === 'active').map(({ id }) => id);
}
