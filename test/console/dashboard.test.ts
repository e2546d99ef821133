import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import type { Interruption } from '../../src/runtime/interruption.js';
import { abandonedReading } from '../../src/store/dialect/port.js';
import { seedInvestment, seedRow } from '../store/support/mirror.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';
import {
  ask,
  companyName,
  hostile,
  person,
  type RunningConsole,
  startConsole,
  Visitor,
} from './running-console.js';

let world: RunningConsole;
beforeAll(async () => {
  world = await startConsole();
});
afterAll(() => world.close());

const pages = [
  '/',
  '/companies',
  '/companies/acme/co_1',
  `/companies/hostile/${encodeURIComponent(hostile)}`,
  '/roster',
  '/records/acme/inv_ada',
  `/records/hostile/${encodeURIComponent(hostile)}`,
  '/sql',
  '/operations',
];

const texts = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const ids = (body: string): string[] =>
  [...body.matchAll(/href="\/records\/acme\/([\w-]+)"/g)].map(([, id = '']) => id);

test.each(pages)('the page %s loads no external and contains no inline content', async (path) => {
  const { status, headers, body } = await ask(world.port, path);
  expect(status).toBe(200);
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  expect(headers['cache-control']).toBe('no-store');
  expect(body).not.toContain('<script>');
  expect(body).not.toMatch(/(?:src|href|action)="(?:\w+:|\/\/)/);
  // Remove quoted values, so that only attribute names are left.
  expect(body.replaceAll(/"[^"]*"/g, '""')).not.toMatch(/<img|<[^>]+ (?:style|on\w+)=/);
  expect(body).toContain('<html lang="en">');
  expect(body.match(/<h1>/g)).toHaveLength(1);
});

test.each(['/roster', '/companies/acme/co_1', '/?as-of=2026-01-01'])(
  'the reading of %s ends when its client goes, and nothing is logged',
  async (path) => {
    let begin: (gone: Interruption | undefined) => void = () => {};
    const begun = new Promise<Interruption | undefined>((resolve) => {
      begin = resolve;
    });
    const abandoned = await startConsole({
      read: (_, gone) =>
        new Promise((_, reject) => {
          begin(gone);
          gone?.addEventListener('abort', () => reject(abandonedReading()));
        }),
    });
    onTestFinished(() => abandoned.close());
    const page = request({ port: abandoned.port, path });
    page.on('error', () => {});
    page.end();
    const gone = await begun;
    expect(gone?.aborted).toBe(false);
    page.destroy();
    await expect.poll(() => gone?.aborted).toBe(true);
    expect(abandoned.logged).toEqual([]);
  },
);

test('the overview shows what each company raised and by how many investors, and changes by name', async () => {
  const { body } = await ask(world.port, '/');
  const text = texts(body);
  const figures = world.database.raw
    .prepare(
      "SELECT sum(raised_cents) / 100.0 AS raised, sum(committed_cents) / 100.0 AS committed, count(DISTINCT investor_id) AS investors, count(*) AS investments FROM investments WHERE source = 'acme' AND currency = 'usd'",
    )
    .get() as Record<'raised' | 'committed' | 'investors' | 'investments', number>;
  const money = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
  expect(text).toMatch(new RegExp(`${companyName} co_1 Complete up to [^A-Z]* ago USD Raised`));
  expect(text).toContain(
    `Raised ${money.format(figures.raised)} Committed ${money.format(figures.committed)} Investors ${figures.investors} Investments ${figures.investments}`,
  );
  // Currencies are never added.
  expect(text).toMatch(/EUR Raised €500\.00 Committed €1,000\.00 Investors 1 Investments 1/);
  expect(text).toMatch(/Last 7 days 7 days before Change Raised \$/);
  expect(text).toMatch(/Raised: \$1,000\.00 \$7,777\.00 · Status: reserved active inv_ada/);
  expect(body).toContain('reserved <span class="becomes" role="img" aria-label="became"></span> active');
  expect(text).toMatch(new RegExp(`Withdrawn: \\$1,000\\.00 committed, active inv_gone .*${companyName}`));
  expect(text).toMatch(/hostile : Stopped: a person has to help, see last_error\. See Operations/);
  expect(text).toMatch(
    /newcomer Catching up First listing in progress since 60 min ago : 95,000 of about 140,000 records; time left not known; continues at \d\d:\d\d UTC/,
  );
  expect(text).not.toContain('Recent ticks');
  expect(body).not.toContain(person);
});

test('the page of operations shows the state of every source and the queues', async () => {
  const text = texts((await ask(world.port, '/operations')).body);
  expect(text).toMatch(/acme Up to date Following the feed\./);
  expect(text).toMatch(/hostile Needs a person Stopped: a person has to help/);
  expect(text).toMatch(/newcomer Catching up First listing under way/);
  expect(text).toMatch(/hourly request quota is used up: continues at \d\d:\d\d , in \d+ min \./);
  expect(text).toMatch(/95,000 of about 140,000 records; .* 950 pages since 60 min ago/);
  expect(text).toMatch(/Requests left this hour 640 of 1,000, resets in (?:39|40) min/);
  expect(text).toMatch(/70 d ago , 19 days of 90 left/);
  expect(text).toMatch(/Webhooks 1 1 given up/);
  expect(text).toMatch(/Erasures 1 oldest:/);
  expect(text).toMatch(/inv_gone tombstone not scrubbed yet/);
  expect(text).toContain('failed: unauthorized');
});

test('a company page shows one currency and has every number in a table', async () => {
  const { body } = await ask(world.port, '/companies/acme/co_1');
  const text = texts(body);
  expect(body).toContain('data-chart="line" data-unit="USD"');
  expect(body).toMatch(/<td class="number" data-value="-1">1<\/td>/);
  expect(text).toMatch(/inv_ada .* changed \$1,000\.00 \$7,777\.00 \+\$6,777\.00/);
  expect(text).toMatch(/inv_gone .* removed \$1,000\.00 \$0\.00 -\$1,000\.00/);
  const total = world.database.raw
    .prepare("SELECT sum(raised_cents) FROM investments WHERE source = 'acme' AND currency = 'usd'")
    .pluck()
    .get();
  const shown = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2 }).format(Number(total) / 100);
  expect(text).toContain(`Raised $${shown}`);
  const euros = texts((await ask(world.port, '/companies/acme/co_1?currency=eur')).body);
  expect(euros).toContain('Raised €500.00');
  expect((await ask(world.port, '/companies/acme/co_none')).status).toBe(404);
});

test('the page of a company without investments says so, and lists its rounds', async () => {
  const version = { source_no: 1, valid_from: '2026-10-20T12:00:00.000Z', change_seq: 1 };
  seedRow(world.database, 'company_rows', {
    ...version,
    id: 'co_new',
    name: 'New Ferries',
    reported_rounds: '[]',
  });
  const { status, body } = await ask(world.port, '/companies/acme/co_new');
  expect(status).toBe(200);
  expect(texts(body)).toContain('New Ferries acme co_new');
  expect(texts(body)).toContain('It has no investments yet.');
});

test('the bars of companies are shares of all that one currency raised, and a currency is escaped in an address', async () => {
  const { body } = await ask(world.port, '/companies');
  const rows = [...body.matchAll(/<tr><th scope="row">.*?<\/tr>/gs)].map(([row]) => row);
  const shares = new Map<string, number>();
  for (const row of rows) {
    const currency = /\?currency=([^"]*)"/.exec(row)?.[1]?.replaceAll('&#39;', "'") ?? 'no currency';
    expect(currency).toMatch(/^[\w%.~!*'()-]*$/);
    const width = Number(/<rect width="([\d.]+)%"/.exec(row)?.[1]);
    expect(row).toContain(`<span>${width.toFixed(1)} %</span>`);
    shares.set(currency, width + (shares.get(currency) ?? 0));
  }
  expect([...shares.keys()]).toEqual(expect.arrayContaining(['usd', 'eur', encodeURIComponent(hostile)]));
  expect([...shares.values()].filter((sum) => Math.abs(sum - 100) > 0.1)).toEqual([]);
});

test('the bars of a company are shares of all it raised, with the percentage beside each', async () => {
  const { body } = await ask(world.port, '/companies/acme/co_1');
  const widths = [...body.matchAll(/<rect width="([\d.]+)%"/g)].map(([, width]) => Number(width));
  const [statuses, rounds] = [widths.slice(0, 4), widths.slice(4, 7)];
  for (const shares of [statuses, rounds])
    expect(shares.reduce((sum, width) => sum + width, 0)).toBeCloseTo(100, 1);
  expect(Math.max(...statuses)).toBeLessThan(60);
  expect(texts(body)).toMatch(/active 32 \$82,377\.00 51\.0 %/);
});

test('an address without a page leads on by the navigation', async () => {
  const { status, body } = await ask(world.port, '/nothing-here');
  expect(status).toBe(404);
  for (const path of ['/', '/companies', '/roster', '/sql', '/operations'])
    expect(body).toContain(`<li><a href="${path}">`);
  const plain = await ask(world.port, '/nothing-here', { headers: { accept: 'text/plain' } });
  expect(plain.body).toBe('not found\n');
});

test('paging through the roster shows every row once, in both directions, with nulls last', async () => {
  for (const order of ['applied_at', 'committed_cents', 'status']) {
    for (const dir of ['asc', 'desc']) {
      const seen: string[] = [];
      let path: string | undefined = `/roster?source=acme&order=${order}&dir=${dir}`;
      for (let page = 0; page < 5 && path !== undefined; page += 1) {
        const { body } = await ask(world.port, path);
        seen.push(...ids(body));
        path = /rel="next" href="([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&');
      }
      expect(new Set(seen).size, `${order} ${dir}`).toBe(123);
      expect(seen).toHaveLength(123);
      if (order === 'applied_at') expect(seen.at(-1)).toBe('inv_undated');
    }
  }
});

test('filters narrow the roster, and a search for an id finds its rows', async () => {
  const filtered = await ask(world.port, '/roster?source=acme&status=executed&round=ofr_2');
  expect(texts(filtered.body)).toContain('10 investments');
  expect(filtered.body).toContain('<option value="executed" selected>executed</option>');
  const visitor = new Visitor(world.port);
  await visitor.get('/roster');
  const found = await visitor.post('/roster/find', { text: 'usr_7', to: '/roster?source=acme' });
  expect(ids(found.body)).toHaveLength(3);
  // An invalid position shows the first page.
  expect((await ask(world.port, '/roster?after=nonsense')).status).toBe(200);
});

test.each(['invt_Ab1', 'inv_a-b', 'inv_a-'])(
  'a search for the id %s is not taken for a name',
  async (text) => {
    const id = text.endsWith('-') ? `${text}b` : text;
    const row = seedInvestment(world.database, 1, id);
    try {
      const visitor = new Visitor(world.port);
      await visitor.get('/roster');
      const found = await visitor.post('/roster/find', { text, to: '/roster' });
      expect(ids(found.body)).toEqual([id]);
      expect(texts(found.body)).not.toContain('search people too');
    } finally {
      world.database.raw.prepare('DELETE FROM investment_rows WHERE row_no = ?').run(row);
    }
  },
);

/** Returns the address that the forms of a roster page redirect to. */
const searchIn = (body: string): string =>
  /name="to" value="(\/roster[^"]*search=[^"]*)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? '';

test('a name search applies only to pages with its key in the address; without it all rows are shown and exported', async () => {
  const visitor = new Visitor(world.port);
  await visitor.get('/roster');
  await visitor.post('/identity', { do: 'show', to: '/roster' });
  const found = await visitor.post('/roster/find', {
    text: 'lovelace',
    to: '/roster?source=acme&status=active',
  });
  expect(texts(found.body)).toContain('3 investments');
  const search = searchIn(found.body);
  expect(search).toContain('source=acme&status=active&search=');

  // A navigation link, a link on another page and another tab have no search in their address.
  expect(/<a class="button" href="([^"]+)">Clear/.exec(found.body)?.[1]).toBe('/roster');
  for (const path of ['/roster', '/roster?source=acme', '/roster?order=raised_cents']) {
    expect(texts((await visitor.get(path)).body), path).toMatch(/12[34] investments/);
    const file = await visitor.send('/roster/file', { csrf: visitor.csrf, format: 'csv', to: path });
    expect(file.body.split('\r\n').length, path).toBeGreaterThan(123);
  }
  // The browser's back button and every link and form of the page keep the search.
  expect(texts((await visitor.get(search)).body)).toContain('3 investments');
  for (const [, path = ''] of found.body.matchAll(/href="(\/roster\?[^"]*order=[^"]*)"/g))
    expect(ids((await visitor.get(path.replaceAll('&amp;', '&'))).body), path).toHaveLength(3);
  expect(found.body).toContain(`<input type="hidden" name="search" value="${search.split('=').at(-1)}">`);
  const taken = await visitor.send('/roster/file', { csrf: visitor.csrf, format: 'csv', to: search });
  expect(taken.body.split('\r\n')).toHaveLength(5);

  // An empty field or an id ends the search.
  const emptied = await visitor.post('/roster/find', { text: '', to: search });
  expect(searchIn(emptied.body)).toBe('');
  expect(ids((await visitor.post('/roster/find', { text: 'inv_0000', to: search })).body)).toEqual([
    'inv_0000',
  ]);
});

test('while names are masked, the roster and its file are searched by the names of companies and rounds', async () => {
  const visitor = new Visitor(world.port);
  const empty = await visitor.get('/roster');
  expect(texts(empty.body)).toContain('or rounds and companies by a part of their name.');
  const found = await visitor.post('/roster/find', { text: 'd note 2026', to: '/roster?source=acme' });
  const counted = /(\d+) investments/.exec(texts(found.body))?.[1];
  const inRound = await visitor.get('/roster?source=acme&round=ofr_2');
  expect([Number(counted), counted]).toEqual([40, /(\d+) investments/.exec(texts(inRound.body))?.[1]]);
  expect(found.body).toContain('value="d note 2026"');
  const of = await visitor.post('/roster/find', { text: 'copper', to: '/roster' });
  expect(texts(of.body)).toContain('123 investments');

  const [, people = ''] = /name="people" value="(\w+)"/.exec(found.body) ?? [];
  const to = searchIn(found.body);
  const file = await visitor.send('/roster/file', { csrf: visitor.csrf, format: 'csv', people, to });
  expect(file.body.trimEnd().split('\r\n')).toHaveLength(41);
  // In another tab names are shown meanwhile: the file still has the rows of its page.
  await visitor.post('/identity', { do: 'show', to: '/' });
  const again = await visitor.send('/roster/file', { csrf: visitor.csrf, format: 'csv', people, to });
  expect(again.body).toBe(file.body);
});

test('a forgotten search is reported, and no file with other rows is sent', async () => {
  const visitor = new Visitor(world.port);
  await visitor.get('/roster');
  const masked = await visitor.post('/roster/find', { text: 'lovelace', to: '/roster' });
  const search = searchIn(masked.body);
  // A page with names was filtered by names of people, so no file is sent while they are masked.
  const file = { format: 'csv', to: search, people: 'yes' };
  expect((await visitor.send('/roster/file', { csrf: visitor.csrf, ...file })).status).toBe(409);
  await visitor.post('/identity', { do: 'show', to: '/' });
  await visitor.get(search);
  expect((await visitor.send('/roster/file', { csrf: visitor.csrf, ...file })).status).toBe(200);
  await visitor.post('/identity', { do: 'mask', to: '/roster' });
  await visitor.post('/identity', { do: 'show', to: '/roster' });
  expect(texts((await visitor.get(search)).body)).toContain('The name you searched for is no longer stored');
  const refused = await visitor.send('/roster/file', { csrf: visitor.csrf, ...file });
  expect([refused.status, texts(refused.body)]).toEqual([409, expect.stringContaining('Search again')]);
  // The key is not valid in another browser.
  const other = new Visitor(world.port);
  expect(texts((await other.get(search)).body)).toContain('no longer stored');
});

test('names are masked until requested, in that browser only, and never appear in an address or the log', async () => {
  world.logged.length = 0;
  const visitor = new Visitor(world.port);
  for (const path of ['/roster?id=inv_ada', '/records/acme/inv_ada'])
    expect((await visitor.get(path)).body).not.toContain(person);
  const searched = await visitor.post('/roster/find', { text: 'lovelace', to: '/roster' });
  expect(texts(searched.body)).toContain('Show names to search people too.');
  // Neither rows nor the text itself: it may be the name of a person.
  expect(ids(searched.body)).toEqual([]);
  expect(searched.body).not.toMatch(/lovelace/i);

  const to = searchIn(searched.body);
  expect(to).toMatch(/^\/roster\?search=\w+$/);
  const shown = await visitor.send('/identity', { csrf: visitor.csrf, do: 'show', to });
  expect([shown.status, shown.headers.location]).toEqual([303, to]);
  const narrowed = await visitor.get(to);
  expect(ids(narrowed.body).sort()).toEqual(['inv_ada', 'inv_euro', 'inv_undated']);
  expect(narrowed.body).toContain('ada@example.com');
  expect((await visitor.get('/records/acme/inv_ada')).body).toContain('London');
  expect((await ask(world.port, '/records/acme/inv_ada')).body).not.toContain('London');

  const file = await visitor.send('/roster/file', {
    csrf: visitor.csrf,
    format: 'csv',
    identity: 'yes',
    to,
  });
  expect(file.body.split('\r\n')).toHaveLength(5);
  expect(file.body).toContain(person);

  const masked = await visitor.post('/identity', { do: 'mask', to: '/records/acme/inv_ada' });
  expect(masked.body).not.toContain('London');
  expect(world.logged.filter(({ message }) => message === 'identity was shown at the console')).toEqual([
    expect.objectContaining({ fields: { event: 'roster', rows: 3 } }),
    expect.objectContaining({ fields: { event: 'record', investment: 'inv_ada' } }),
    expect.objectContaining({ fields: { event: 'roster file' } }),
  ]);
  expect(JSON.stringify(world.logged)).not.toMatch(/lovelace|ada@example/i);
});

test('a roster download escapes formulas and has names only while they are shown', async () => {
  const visitor = new Visitor(world.port);
  await visitor.get('/roster');
  const fields = { csrf: visitor.csrf, identity: 'yes', to: '/roster?source=acme&status=executed' };
  const csv = await visitor.send('/roster/file', { ...fields, format: 'csv' });
  expect(csv.headers['content-disposition']).toBe('attachment; filename=roster.csv');
  expect(csv.body).not.toContain('Investor Number');
  expect(csv.body.trimEnd().split('\r\n')).toHaveLength(31);
  const lines = await visitor.send('/roster/file', { ...fields, format: 'jsonl' });
  const rows = lines.body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(rows).toHaveLength(30);
  expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['executed']));
  expect(rows[0]).not.toHaveProperty('name');
});

test('the overview as of a past day shows the totals and changes of then, and leads back to now', async () => {
  const { status, body } = await ask(world.port, '/?as-of=2026-10-15');
  const text = texts(body);
  expect(status).toBe(200);
  expect(text).toMatch(/As of 2026-10-15 23:59:59 UTC \. Back to now/);
  expect(text).toMatch(/Copper Labs co_1 acme reserved USD 31 /);
  expect(text).toMatch(/Newest changes then .* First listing complete acme – – 2026-10-01 00:00:00/);
  expect(text).not.toContain('inv_gone');
  expect(body).toMatch(/<input type="date" name="as-of" value="2026-10-15" max="\d{4}-\d\d-\d\d">/);
  const elsewhere = await ask(world.port, `/?as-of=${encodeURIComponent('2026-10-16T01:30:00+02:00')}`);
  expect(texts(elsewhere.body)).toContain('As of 2026-10-15 23:30:00 UTC');
  expect(elsewhere.body).toContain('name="as-of" value="2026-10-15"');
  expect(body).toContain('<a href="/">Back to now</a>');
  expect(body).not.toContain('live.js');
});

test('the pages of companies as of a past day show the figures of then, and lead to each other and back to now', async () => {
  const all = await ask(world.port, '/companies?as-of=2026-10-15');
  expect([all.status, texts(all.body)]).toEqual([
    200,
    expect.stringMatching(/As of 2026-10-15 23:59:59 UTC \. Back to now.* Copper Labs co_1 acme /),
  ]);
  expect(all.body).toContain('href="/companies/acme/co_1?currency=usd&amp;as-of=2026-10-15"');
  const then = await ask(world.port, '/companies/acme/co_1?currency=usd&as-of=2026-10-15');
  expect([then.status, texts(then.body)]).toEqual([
    200,
    expect.stringMatching(/As of 2026-10-15 23:59:59 UTC \. Back to now.* By status .* reserved 31 /),
  ]);
  expect(texts(then.body)).not.toContain('inv_gone');
  expect(texts((await ask(world.port, '/companies/acme/co_1?currency=usd')).body)).toContain('inv_gone');
  expect((await ask(world.port, '/companies/acme/co_unknown?as-of=2026-10-15')).status).toBe(404);
});

test('the roster as of a past day shows the rows of then, and its links and its file stay in the past', async () => {
  const visitor = new Visitor(world.port);
  const then = await visitor.get('/roster?id=inv_ada&as-of=2026-10-15');
  expect(texts(then.body)).toMatch(/As of 2026-10-15 23:59:59 UTC \..*inv_ada .*\$1,000\.00 .* reserved/);
  const now = await visitor.get('/roster?id=inv_ada');
  expect(texts(now.body)).toMatch(/inv_ada .*\$7,777\.00 .* active/);
  const left = await visitor.get('/roster?id=inv_gone&as-of=2026-10-15');
  expect(ids(left.body)).toEqual(['inv_gone']);
  expect(ids((await visitor.get('/roster?id=inv_gone')).body)).toEqual([]);
  const all = await visitor.get('/roster?source=acme&as-of=2026-10-15');
  expect(all.body).toMatch(/href="\/roster\?source=acme&amp;as-of=2026-10-15&amp;after=/);
  expect(all.body).toMatch(/href="\/roster\?source=acme">Back to now/);
  expect(all.body).toMatch(/name="to" value="\/roster\?source=acme&amp;as-of=2026-10-15"/);
  const file = await visitor.send('/roster/file', {
    csrf: visitor.csrf,
    format: 'csv',
    to: '/roster?id=inv_ada&as-of=2026-10-15',
  });
  expect(file.body).toContain('reserved');
  await visitor.post('/identity', { do: 'show', to: '/roster?id=inv_ada&as-of=2026-10-15' });
  const named = await visitor.get('/roster?id=inv_ada&as-of=2026-10-15');
  expect(texts(named.body)).toMatch(new RegExp(`inv_ada .* reserved .*${person}`));
});

test.each([
  ['/?as-of=soon', 'as-of is &quot;soon&quot;'],
  ['/?as-of=9998-01-01', 'as-of is in the future'],
  ['/?as-of=2001-01-01', 'the history of this mirror begins at 2026-10-01'],
  ['/companies?as-of=2001-01-01', 'the history of this mirror begins at 2026-10-01'],
  ['/companies/acme/co_1?as-of=soon', 'as-of is &quot;soon&quot;'],
  ['/companies/acme/co_1?as-of=2001-01-01', 'the history of acme begins at 2026-10-01'],
  ['/roster?as-of=soon', 'as-of is &quot;soon&quot;'],
  ['/roster?as-of=2001-01-01', 'the history of this mirror begins at 2026-10-01'],
  ['/sql?query=latest-changes&as-of=2001-01-01', 'the history of this mirror begins at 2026-10-01'],
])('the page %s reports why that time cannot be shown', async (path, says) => {
  const { status, body } = await ask(world.port, path);
  expect(status).toBe(422);
  expect(body).toContain(says);
});

test('the SQL box reads as of the chosen day, with names masked and in its file too', {
  timeout: 120_000,
}, async () => {
  const visitor = new Visitor(world.port);
  const page = await visitor.get('/sql?as-of=2026-10-15');
  expect(page.body).toContain('action="/sql?as-of=2026-10-15"');
  expect(page.body).toContain('href="/sql?query=latest-changes&amp;as-of=2026-10-15"');
  const sql = "SELECT status FROM investments WHERE id = 'inv_ada'";
  const then = { sql, do: 'run', 'as-of': '2026-10-15' };
  const ran = await visitor.post('/sql', then);
  expect(texts(ran.body)).toMatch(/As of 2026-10-15 23:59:59 UTC.* status reserved /);
  expect(texts((await visitor.post('/sql', { ...then, 'as-of': '' })).body)).toMatch(/ status active /);
  const { 'as-of': _, ...without } = then;
  const addressed = await visitor.post('/sql?as-of=2026-10-15', without);
  expect(texts(addressed.body)).toMatch(/ status reserved /);
  const file = await visitor.send('/sql', { csrf: visitor.csrf, ...then, do: 'file' });
  expect(file.body).toBe('status\r\nreserved\r\n');
  const masked = await visitor.post('/sql', { ...then, sql: 'SELECT name FROM roster' });
  expect([masked.status, masked.body.includes(person)]).toEqual([422, false]);
});

test('a record page shows the changes of each version and reports a removed record', async () => {
  const text = texts((await ask(world.port, '/records/acme/inv_ada')).body);
  expect(text).toMatch(/Status reserved active/);
  expect(text).toMatch(/Raised \$1,000\.00 \$7,777\.00/);
  expect(texts((await ask(world.port, '/records/acme/inv_gone')).body)).toMatch(
    /No longer in the mirror: withdrawn \d+ min ago/,
  );
  expect((await ask(world.port, '/records/acme/inv_never')).status).toBe(404);
});

test('the SQL box runs queries and reports errors, and reads identity only while names are shown', {
  timeout: 120_000,
}, async () => {
  const visitor = new Visitor(world.port);
  await visitor.get('/sql');
  const ran = await visitor.post('/sql', { sql: 'SELECT count(*) AS n FROM investments', do: 'run' });
  expect(texts(ran.body)).toMatch(/Result 1 row in .* n 124/);
  const wrote = await visitor.post('/sql', { sql: 'DELETE FROM sources', do: 'run' });
  expect([wrote.status, texts(wrote.body)]).toEqual([
    422,
    expect.stringContaining('only statements that read'),
  ]);
  const named = { sql: "SELECT name FROM roster WHERE id = 'inv_ada'", do: 'run' };
  const masked = await visitor.post('/sql', named);
  expect([masked.status, masked.body.includes(person)]).toEqual([422, false]);
  await visitor.post('/identity', { do: 'show', to: '/sql' });
  expect((await visitor.post('/sql', named)).body).toContain(person);
  const file = await visitor.send('/sql', {
    csrf: visitor.csrf,
    do: 'file',
    sql: "SELECT 1 AS one, '=2+2' AS formula",
  });
  expect(file.body).toBe("one,formula\r\n1,'=2+2\r\n");
});

test('showing and masking names on the SQL page keeps the typed statement and does not run it', async () => {
  const visitor = new Visitor(world.port);
  const page = await visitor.get('/sql');
  expect(page.body).toMatch(
    /<button form="sql-form" name="do" value="show" formnovalidate>Show for 15 minutes/,
  );
  const typed = { sql: "SELECT 'unfinished", 'as-of': '2026-10-15' };
  const shown = await visitor.post('/sql', { ...typed, do: 'show' });
  expect(shown.status).toBe(200);
  expect(shown.body).toContain('SELECT &#39;unfinished</textarea>');
  expect(shown.body).toContain('value="2026-10-15"');
  expect(texts(shown.body)).toMatch(
    /Names and emails are shown in this browser until \d\d:\d\d \. Mask again/,
  );
  const masked = await visitor.post('/sql', { ...typed, do: 'mask' });
  expect(masked.body).toContain('SELECT &#39;unfinished</textarea>');
  expect(texts(masked.body)).toContain('Names and emails are masked. Show for 15 minutes');
  expect(world.logged.map(({ message }) => message).slice(-2)).toEqual([
    'identity is shown on request',
    'identity is masked again',
  ]);
});

test('the SQL box and its file never show masked names, whatever precedes the statement, and refusals are logged', {
  timeout: 240_000,
}, async () => {
  const visitor = new Visitor(world.port);
  await visitor.get('/sql');
  const from = world.logged.length;
  for (const [what, sql] of [
    ['run', ';SELECT name, email FROM identities'],
    ['file', '-- first\n;SELECT name FROM roster'],
  ] as const) {
    const answer = await visitor.post('/sql', { sql, do: what });
    expect([answer.status, texts(answer.body)]).toEqual([422, expect.stringContaining('which are masked')]);
    expect(answer.body).not.toMatch(new RegExp(`${person}|ada@example`));
  }
  const said = world.logged
    .slice(from)
    .map(({ fields, message }) => `${message}: ${fields.event}, ${fields.mode}`);
  expect(said).toEqual(
    ['query', 'query file'].map((event) => `a query was refused at the console: ${event}, identity masked`),
  );
  await visitor.post('/identity', { do: 'show', to: '/sql' });
  const sql = ';SELECT name FROM identities';
  const file = await visitor.send('/sql', { csrf: visitor.csrf, do: 'file', sql });
  expect(file.body).toContain(person);
  expect(world.logged.at(-1)).toMatchObject({
    fields: { event: 'query file' },
    message: 'identity was shown at the console',
  });
});

test('a result too large for a page or a file is reported before the file starts', {
  timeout: 240_000,
}, async () => {
  const visitor = new Visitor(world.port);
  await visitor.get('/sql');
  const sql = "SELECT printf('%.*c', 5000000, 'x')";
  for (const what of ['run', 'file']) {
    const answer = await visitor.post('/sql', { sql, do: what });
    expect([answer.status, texts(answer.body)]).toEqual([
      422,
      expect.stringContaining('a row of the result holds more than 4 MB'),
    ]);
  }
});

test('an endless query is cancelled', async () => {
  // Ten times as fast: the query keeps a processor busy until then.
  const fast: Clock = { ...systemClock, wait: (millis, signal) => systemClock.wait(millis / 10, signal) };
  const own = await startConsole({ rows: 3, queryClock: fast });
  onTestFinished(() => own.close());
  const visitor = new Visitor(own.port);
  await visitor.get('/sql');
  const sql = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n';
  const ended = await visitor.post('/sql', { sql, do: 'run' });
  expect([ended.status, texts(ended.body)]).toEqual([422, expect.stringContaining('longer than 5000 ms')]);
});

test('a result by day is plotted, and a truncated result is marked', async () => {
  const visitor = new Visitor(world.port);
  await visitor.get('/sql');
  const sql = `SELECT day, 'usd' AS currency, raised_cents FROM daily_raised WHERE source = 'acme' AND day IS NOT NULL AND currency = 'usd'`;
  expect((await visitor.post('/sql', { sql, do: 'run' })).body).toContain('data-series="raised_cents"');
  const two = sql.replace("'usd' AS currency", 'currency').replace(" AND currency = 'usd'", '');
  const drawn = (await visitor.post('/sql', { sql: two, do: 'run' })).body;
  expect(drawn.match(/data-series="raised_cents"/g)).toHaveLength(2);
  expect(texts(drawn)).toMatch(
    /raised_cents, usd .*raised_cents, eur |raised_cents, eur .*raised_cents, usd /,
  );
  const many = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 2000) SELECT x FROM n';
  const cut = texts((await visitor.post('/sql', { sql: many, do: 'run' })).body);
  expect(cut).toMatch(/1,000 rows in .*, more rows are not shown/);
});

test('an open page receives an event when something changes, and only then', async () => {
  const response = await fetch(`${world.url}/operations/events`);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const until = async (wanted: string) => {
    let heard = '';
    while (!heard.includes(wanted)) heard += (await reader?.read())?.value ?? '';
    return heard;
  };
  expect(await until('\n\nevent: parts\n')).not.toContain('<script>');
  world.database.raw.prepare("UPDATE sources SET rows_held = 4242 WHERE name = 'acme'").run();
  world.tick();
  expect(await until('4,242')).toContain('4,242');
  await reader?.cancel();
});

test('a name with carriage returns does not end an event of an open page before its end', async () => {
  const own = await startConsole({ rows: 3 });
  onTestFinished(() => own.close());
  own.database.raw.exec("UPDATE company_rows SET name = 'Copper' || char(13) || char(13) || 'Labs'");
  const response = await fetch(`${own.url}/events`);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let heard = '';
  while (!heard.includes('id="changes"') || !heard.endsWith('\n\n'))
    heard += (await reader?.read())?.value ?? '';
  await reader?.cancel();
  const end = String.raw`(?:\r\n|\r|\n)`;
  const events = heard.split(new RegExp(`${end}{2}`));
  expect(events).toEqual(['retry: 2000', expect.stringMatching(/Copper\ndata: \ndata: Labs/), '']);
  const lines = (events[1] ?? '').split(new RegExp(end));
  expect(lines.filter((line) => !/^(?:event|data): /.test(line))).toEqual([]);
});

test('a fifth download of a roster at the same time is refused, and pages are shown', async () => {
  const shared = await startConsole({ rows: 3, clock: new VirtualClock() });
  onTestFinished(() => shared.close());
  // More than the sockets hold between a server and a client that does not read.
  seedInvestment(shared.database, 1, 'inv_large', { reason: 'x'.repeat(8_000_000) });
  const someone = new Visitor(shared.port);
  await someone.get('/roster');
  const fields = { format: 'csv', to: '/roster' };
  const files: IncomingMessage[] = [];
  const takeNone = () => {
    for (const file of files) file.destroy();
  };
  onTestFinished(takeNone);
  for (let count = 0; count < 4; count += 1) files.push(await someone.pausedFile('/roster/file', fields));
  expect(files.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  const fifth = await someone.post('/roster/file', fields);
  expect([fifth.status, fifth.body]).toEqual([429, expect.stringContaining('Too many downloads')]);
  expect((await someone.get('/')).status).toBe(200);
  takeNone();
  const begun = async () => {
    const file = await someone.pausedFile('/roster/file', fields);
    file.destroy();
    return file.statusCode;
  };
  await expect.poll(begun).toBe(200);
});
