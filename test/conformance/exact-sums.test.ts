import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../src/platform/state/statements.js';
import { personToken } from './catalog.js';
import { company, type RunningPlatform, startPlatform } from './running-platform.js';
import { foundSyndicate, type TestSyndicate } from './syndicate-life.js';

/*
 * One amount is at most 2^53 - 1 cents. This many are more than 64 bits, at which `sum()` of SQLite fails, and all of them
 * are made by control calls. A response has the digits of their sum, which JSON.parse would round.
 */
const most = Number.MAX_SAFE_INTEGER;
const count = 1_025;
const sum = BigInt(most) * BigInt(count);
const wholeDollars = String(sum / 100n);
const dollars = `${wholeDollars}.${String(sum).slice(-2)}`;

let world: RunningPlatform;
let syndicate: TestSyndicate;
let round: string;
let events: unknown[] = [];
const tokens = { company: '', founder: '', investor: '' };

beforeAll(async () => {
  world = await startPlatform({ limits: false });
  syndicate = foundSyndicate(world);
  const { person } = syndicate.add('Mia');
  tokens.company = company(world).token;
  tokens.founder = personToken(world, 'founder1@people.example', 'read:companies');
  tokens.investor = personToken(world, person.email, 'read:investments');
  const about = { company: company(world).id };
  // The newest round of a company is the one that the catalog lists.
  await world.control('POST', '/clock', { advanceSeconds: 60 });
  const opened = await world.control('POST', '/offerings', { ...about, targetCents: most });
  round = opened.body.ids[0];
  run(world.services.state, 'UPDATE offerings SET syndicate_no = ? WHERE id = ?', [syndicate.no, round]);
  world.services.events.subscribe((event) => {
    events = [...events.slice(-5), event.dataFor({ scopes: new Set(), kind: 'company' })];
  });
  const amounts = { committed_cents: most, raised_cents: most };
  const set = { offering: round, investor: { id: person.id }, status: 'executed', amounts };
  expect((await world.control('POST', '/investments', { ...about, count, set })).status).toBe(200);
});
afterAll(() => world.close());

/** Returns the text of a response, which was answered with 200 and has the declared shape. */
async function textOf(path: string, token: string, method = 'GET'): Promise<string> {
  const answer = await world.send(method, path, { token });
  expect([path, answer.status, answer.body.error]).toEqual([path, 200, undefined]);
  const sent = { method, headers: { authorization: `Bearer ${token}` } };
  return await (await fetch(new URL(path, world.url), sent)).text();
}

const cents = (name: string) => new RegExp(`"${name}":(-?\\d+)`, 'g');
const amountsIn = (text: string, name: string): bigint[] =>
  [...text.matchAll(cents(name))].map(([, digits = '']) => BigInt(digits));

test('CONV-16 the catalog has the exact sum of a round beyond 64 bits', async () => {
  const offering = await textOf(`/offerings/${round}`, tokens.company);
  expect(amountsIn(offering, 'amount_raised_cents')).toEqual([sum]);
  expect(offering).toContain(`"amount_raised":"${dollars}"`);
  const explore = await textOf('/explore?per_page=100', tokens.company);
  expect(amountsIn(explore, 'amount_raised_cents')[0]).toBe(sum);
  expect(await textOf('/explore?per_page=1&min_amount_raised=900719925.99', tokens.company)).toContain(round);
  expect(amountsIn(await textOf('/campaigns', tokens.founder), 'amount_raised_cents')).toContain(sum);
  await textOf('/companies/search?q=a', tokens.company);
});

test('CONV-16 a company has the exact sum of its rounds beyond 64 bits', async () => {
  const text = await textOf(`/companies/${company(world).id}`, tokens.company);
  const { attributes } = JSON.parse(text).data;
  expect(attributes.service_rounds.length).toBeGreaterThan(1);
  const [allTime = 0n] = amountsIn(text, 'raised_on_service_all_time_cents');
  expect(text).toContain(`"raised_on_service_all_time":"${allTime / 100n}.${String(allTime).slice(-2)}"`);
  const served = text.slice(text.indexOf('"service_rounds"'), text.indexOf('"totals"'));
  const parts = amountsIn(served, 'amount_raised_cents');
  expect(parts).toContain(sum);
  expect(parts.reduce((total, part) => total + part, 0n)).toBe(allTime);
});

test('CONV-16 deals and statistics of a syndicate have exact sums beyond 64 bits', async () => {
  const { creatorToken: token, path } = syndicate;
  const statistics = await textOf(`${path}/statistics`, token);
  expect(amountsIn(statistics, 'total_raised_cents')).toEqual([sum]);
  expect(statistics).toContain(`"total_raised":"${wholeDollars}"`);
  const deal = `${path}/deals/${round}`;
  expect(await textOf(deal, token)).toContain(`"amount_raised":"${wholeDollars}"`);
  expect(await textOf(`${path}/deals`, token)).toContain(`"amount_raised":"${wholeDollars}"`);
  const money = await textOf(`${deal}/statistics`, token);
  expect(amountsIn(money, 'amount_raised_cents')).toEqual([sum]);
  expect(amountsIn(money, 'amount_committed_cents')).toEqual([sum]);
  expect(amountsIn(money, 'average_investment_cents')).toEqual([BigInt(most)]);
  expect(amountsIn(await textOf(`${deal}/investors`, token), 'amount_cents')).toEqual([sum]);
  expect(await textOf(`${deal}/readiness`, token)).toContain('The target is reached.');
});

test('CONV-16 members have exact sums beyond 64 bits and are ordered by them', async () => {
  const { creatorToken: token, path } = syndicate;
  const list = `${path}/members?sort=investment_amount`;
  const members = JSON.parse(await textOf(list, token)).data;
  const totals = members.map(
    (member: { attributes: { investment_total: string } }) => member.attributes.investment_total,
  );
  expect(totals).toEqual([wholeDollars, '0']);
  const first = JSON.parse(await textOf(`${list}&per_page=1`, token));
  const second = await textOf(`${list}&per_page=1&cursor=${first.meta.next_cursor}`, token);
  expect([first.data[0].id, JSON.parse(second).data[0].id]).toEqual(
    members.map(({ id }: { id: string }) => id),
  );
  const own = await textOf(`${path}/members/${members[0].id}/investments`, token);
  expect(amountsIn(own, 'total_amount_cents')).toEqual([sum]);
  const csv = await world.post(`${path}/members/export_csv`, { token });
  expect(csv.body).toContain(wholeDollars);
});

test('CONV-16 a portfolio has exact sums beyond 64 bits', async () => {
  const portfolio = await textOf('/portfolio', tokens.investor);
  expect(amountsIn(portfolio, 'total_cost_basis_cents')).toEqual([sum]);
  const positions = await textOf('/portfolio/positions', tokens.investor);
  expect(amountsIn(positions, 'cost_basis_cents')[0]).toBe(sum);
});

test('stats have exact sums beyond 64 bits, and an event the sum as a number', async () => {
  const stats = await textOf(`/offerings/${round}/stats`, tokens.company);
  expect(amountsIn(stats, 'raised_cents')).toEqual([sum, sum]);
  expect(events).toContainEqual(
    expect.objectContaining({
      investor_totals: expect.objectContaining({
        active_investment_count: count,
        total_committed: Number(sum) / 100,
      }),
    }),
  );
});

test.each([
  [most, 3, most - 1, '3002399751580330'],
  [most, 7, most - 3, '1286742750677284'],
  [most, 2, most, '4503599627370495.5'],
  [1_049, 100, 1_000, '10'],
  [1_050, 100, 1_050, '10.5'],
])(
  'of %i cents at %i a share, whole half shares are bought and no cent more',
  async (committed, price, size, shares) => {
    const opened = await world.control('POST', '/offerings', { company: company(world).id });
    const offering = opened.body.ids[0];
    run(world.services.state, 'UPDATE offerings SET share_price_cents = ? WHERE id = ?', [price, offering]);
    const set = { offering, status: 'executed', amounts: { committed_cents: committed } };
    const made = await world.control('POST', '/investments', { company: company(world).id, set });
    const record = await world.get(`/investments/${made.body.ids[0]}`, { token: tokens.company });
    const { amounts, shares: bought } = record.body.data;
    expect([amounts.investment_size_cents, amounts.raised_cents, bought]).toEqual([size, size, shares]);
  },
);
