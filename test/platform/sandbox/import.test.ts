import { execFileSync } from 'node:child_process';
import { appendFileSync, closeSync, constants, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Fault } from '../../../src/domain/fault.js';
import { linesOf } from '../../../src/platform/sandbox/import/lines.js';
import type { SandboxOptions } from '../../../src/platform/sandbox/sandbox.js';
import { publishableKey } from '../../conformance/catalog.js';
import { type RunningPlatform, startNewlySeeded } from '../../conformance/running-platform.js';
import { tempFolder } from '../../store/temp-folder.js';

const company = { type: 'company', id: 'co_acme', name: 'Acme Robotics', slug: 'acme', tagline: 'Robots.' };
const shares = {
  type: 'offering',
  id: 'ofr_shares',
  company: 'co_acme',
  security: 'equity',
  sharePriceCents: 250,
  targetCents: 5_000_000,
};
const past = { type: 'offering', id: 'ofr_past', company: 'co_acme', status: 'closed', currency: 'eur' };
const waters = { type: 'offering', id: 'ofr_waters', company: 'co_acme', reservations: true };
const ida = { email: 'ida.example@people.example', name: 'Ida Example' };
const first = {
  type: 'investment',
  id: 'inv_first',
  offering: 'ofr_shares',
  status: 'active',
  group: 'IS READY',
  applied_at: '2026-03-01T10:00:00Z',
  amounts: { committed_cents: 100_000, in_escrow_cents: 100_000 },
  investor: { ...ida, address: { city: 'Łódź', country: 'Poland' }, bio: 'Angel.' },
  message: 'Good luck.',
};
const world = [company, shares, past, waters, first];

/** Writes a file of one JSON object a line and returns its path. */
function fileOf(lines: readonly unknown[]): string {
  const file = join(tempFolder(), 'world.jsonl');
  writeFileSync(
    file,
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  );
  return file;
}

async function start(options: SandboxOptions): Promise<RunningPlatform> {
  const platform = await startNewlySeeded({ companies: 1, records: 3, ...options });
  onTestFinished(() => platform.close());
  return platform;
}

const importing = (lines: readonly unknown[]): Promise<RunningPlatform> =>
  start({ importFile: fileOf(lines) });

test('sandbox import: the API serves the companies, rounds and investments of a file', async () => {
  const platform = await importing([...world, { type: 'company', id: 'co_other', name: 'Other' }]);
  const [, acme, other] = platform.ready.companies;
  expect(acme).toMatchObject({
    id: 'co_acme',
    name: 'Acme Robotics',
    offering: 'ofr_shares',
    offerings: ['ofr_shares', 'ofr_past', 'ofr_waters'],
    investments: 1,
  });
  expect(other).toMatchObject({ id: 'co_other', investments: 0 });
  const token = acme?.token ?? '';
  const { body } = await platform.get('/investments', { token });
  expect(body.data).toMatchObject([
    {
      id: 'inv_first',
      company: 'co_acme',
      offering: 'ofr_shares',
      investment_type: 'Equity',
      status: 'active',
      group: 'IS READY',
      applied_at: '2026-03-01T10:00:00.000Z',
      amounts: { currency: 'usd', committed_cents: 100_000, raised_cents: 100_000 },
      shares: '400',
      message: 'Good luck.',
      investor: {
        name: 'Ida Example',
        legal_name: 'Ida Example',
        email: 'ida.example@people.example',
        address: { line: null, city: 'Łódź', state: null, postal_code: null, country: 'Poland' },
        bio: 'Angel.',
        via_entity: false,
      },
    },
  ]);
  const stats = await platform.get('/offerings/ofr_shares/stats', { token });
  expect(stats.body.data.total).toEqual({ count: 1, committed_cents: 100_000, raised_cents: 100_000 });
  const key = publishableKey(platform);
  const page = (await platform.get('/companies/co_acme', { token: key })).body.data.attributes;
  expect(page).toMatchObject({ name: 'Acme Robotics', tagline: 'Robots.', raising: true });
  const round = async (id: string) =>
    (await platform.get(`/offerings/${id}`, { token: key })).body.data.attributes;
  expect(await round('ofr_past')).toMatchObject({ status: 'closed', testing_the_waters: false });
  expect(await round('ofr_waters')).toMatchObject({ testing_the_waters: true, security: null });
  expect(await round('ofr_shares')).toMatchObject({ funding_target_cents: 5_000_000 });
});

test('sandbox import: emails that differ in case only are one person', async () => {
  const again = { ...first, id: 'inv_again', investor: { email: 'Ida.Example@People.Example' } };
  const platform = await importing([...world, again]);
  const token = platform.ready.companies[1]?.token ?? '';
  const { body } = await platform.get('/investments', { token });
  const [one, other] = body.data;
  expect(one.investor.id).toBe(other.investor.id);
  expect([one.investor.email, other.investor.email]).toEqual([ida.email, ida.email]);
});

test('sandbox import: founders of imported companies are in the ready document and see their company', async () => {
  const platform = await importing(world);
  const [, acme] = platform.ready.companies;
  const founder = platform.ready.users.find(({ id }) => id === acme?.founder);
  const { body } = await platform.get('/investments?company_id=co_acme', { token: founder?.token ?? '' });
  expect(body.data.map((record: { id: string }) => record.id)).toEqual(['inv_first']);
  expect(platform.ready.users.slice(-2).map(({ name }) => name)).toEqual(['Ida Investor', 'Ivan Investor']);
});

test('sandbox import: what a line leaves out has a default, and one email is one person', async () => {
  const platform = await importing([
    ...world,
    {
      type: 'investment',
      offering: 'ofr_waters',
      amounts: { committed_cents: 1 },
      investor: { email: ida.email },
    },
    {
      type: 'investment',
      offering: 'ofr_past',
      status: 'executed',
      amounts: { committed_cents: 2 },
      investor: { email: 'fund@people.example', name: 'Finn', legal_name: 'Finn LLC', via_entity: true },
    },
  ]);
  const { body } = await platform.get('/investments', { token: platform.ready.companies[1]?.token ?? '' });
  const [one, two, three] = body.data;
  expect(two).toMatchObject({
    id: expect.stringMatching(/^inv_[A-Za-z0-9]{22}$/),
    status: 'reserved',
    group: 'NO PAYMENT YET',
    amounts: { in_escrow_cents: 0 },
    investor: { id: one.investor.id, name: 'Ida Example', bio: 'Angel.' },
  });
  expect(three).toMatchObject({
    status: 'executed',
    group: 'CONFIRMED',
    amounts: { currency: 'eur' },
    investor: { name: 'Finn', legal_name: 'Finn LLC', via_entity: true },
  });
});

test('sandbox import: imported records change and are announced like seeded ones', async () => {
  const platform = await importing(world);
  const token = platform.ready.companies[1]?.token ?? '';
  const start = (await platform.get('/investments', { token })).body.meta.next_cursor;
  await platform.control('PATCH', '/investments/inv_first', { amounts: { committed_cents: 50_000 } });
  await platform.control('POST', '/investments', { company: 'co_acme', count: 2 });
  const { body } = await platform.get(`/investments?cursor=${start}`, { token });
  expect(body.data.length).toBe(3);
  expect(body.data[0]).toMatchObject({ id: 'inv_first', amounts: { committed_cents: 50_000 } });
});

test('sandbox import: the seeded world does not depend on the file, and the same file gives the same tokens', async () => {
  const plain = await start({});
  const file = fileOf(world);
  const [one, two] = [await start({ importFile: file }), await start({ importFile: file })];
  expect(one.world.document).toEqual(two.world.document);
  expect(one.world.document.companies[0]).toEqual(plain.world.document.companies[0]);
  expect(one.world.document.live).toEqual(plain.world.document.live);
});

test.each([
  ['{"type":"investment","name":"Ida Example"', 'is not JSON'],
  [{ type: 'planet' }, 'type: '],
  [{ id: 'inv_x' }, 'type: must be "company", "offering" or "investment"'],
  [{ ...first, id: 'inv_x', colour: 'red' }, 'the line: has an unknown field: colour'],
  [{ ...first, id: 'inv_x', amounts: { committed_cents: -1 } }, 'amounts.committed_cents: '],
  [
    { ...first, id: 'inv_x', offering: 'ofr_unknown' },
    'offering: no earlier line has the offering ofr_unknown',
  ],
  [{ ...shares, id: 'ofr_x', company: 'co_none' }, 'company: no earlier line has the company co_none'],
  [{ ...company, id: 'acme' }, 'id: must be co_'],
  [{ ...company, id: 'co_again' }, 'companies.slug is used already'],
  [first, 'investments.id is used already'],
  [{ ...first, id: 'inv_x', investor: { email: 'new@people.example' } }, 'investor.name: '],
  [{ ...first, id: 'inv_x', investor: { ...ida, id: 'usr_other' } }, 'investor.id: '],
  [{ ...first, id: 'inv_x', investor: { ...ida, email: 'Ida Example' } }, 'investor.email: '],
])('sandbox import: line 6 with %j is refused with its number and reason', async (line, reason) => {
  const file = fileOf([...world, line]);
  const failure = await startNewlySeeded({ importFile: file, companies: 1, records: 1 }).catch(
    (error) => error,
  );
  expect(failure).toBeInstanceOf(Fault);
  expect(failure.code).toBe('usage');
  expect(failure.message).toContain(`--import: ${file} line 6: ${reason}`);
  expect(failure.message).not.toMatch(/Ida|@/);
});

test('sandbox import: a line that is nested thousands of levels deep is refused with its number', async () => {
  const [open, shut] = ['['.repeat(20_000), ']'.repeat(20_000)];
  const blockers = `[{"key":"id","description":null,"why":${open}${shut}}]`;
  const line = JSON.stringify({ ...first, id: 'inv_x' }).replace(/}$/, `,"blockers":${blockers}}`);
  const file = fileOf([...world, line]);
  await expect(startNewlySeeded({ importFile: file, companies: 1, records: 1 })).rejects.toMatchObject({
    code: 'usage',
    message: `--import: ${file} line 6: is nested deeper than 100 levels`,
  });
});

test('sandbox import: a file that does not exist is a usage error with its name', async () => {
  const file = join(tempFolder(), 'missing.jsonl');
  await expect(startNewlySeeded({ importFile: file })).rejects.toMatchObject({
    code: 'usage',
    message: `--import: ${file} cannot be read (ENOENT)`,
  });
});

test('sandbox import: a pipe is read while a program writes to it, and refused otherwise', async () => {
  const file = join(tempFolder(), 'pipe');
  execFileSync('mkfifo', [file]);
  await expect(startNewlySeeded({ importFile: file })).rejects.toMatchObject({
    code: 'usage',
    message: `--import: ${file} is a pipe that no program writes to`,
  });
  const kept = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  writeFileSync(file, world.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const platform = await start({ importFile: file });
  expect(platform.ready.companies[1]?.id).toBe('co_acme');
  closeSync(kept);
});

test('sandbox import: a data file continues its world without the imported file, and refuses another one', async () => {
  const dataFile = join(tempFolder(), 'world.db');
  const file = fileOf(world);
  const before = await start({ dataFile, importFile: file });
  const { document } = before.world;
  await before.close();
  rmSync(file);
  const after = await start({ dataFile, importFile: file });
  expect(after.world.document).toEqual(document);
  await after.close();
  const other = startNewlySeeded({ companies: 1, records: 3, dataFile, importFile: '/other.jsonl' });
  await expect(other).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining(`that imported ${file}, not /other.jsonl`),
  });
});

test('sandbox import: after a refused line the data file can be used again', async () => {
  const dataFile = join(tempFolder(), 'world.db');
  const broken = fileOf([...world, 'no JSON']);
  await expect(startNewlySeeded({ dataFile, importFile: broken })).rejects.toBeInstanceOf(Fault);
  const platform = await start({ dataFile, importFile: fileOf(world) });
  expect(platform.ready.companies[1]?.id).toBe('co_acme');
});

test('sandbox import: a reset reads the file again, and changes nothing if it cannot', async () => {
  const file = fileOf(world);
  const platform = await start({ importFile: file });
  const token = platform.ready.companies[1]?.token ?? '';
  const count = async () => (await platform.get('/investments', { token })).body.data.length;
  await platform.control('POST', '/investments', { company: 'co_acme' });
  expect(await count()).toBe(2);
  appendFileSync(file, '\nno JSON');
  await platform.control('POST', '/clock', { advanceSeconds: 60 });
  const refused = await platform.control('POST', '/reset');
  expect([refused.status, refused.body.error.message]).toEqual([
    409,
    expect.stringContaining('line 6: is not JSON'),
  ]);
  expect(await count()).toBe(2);
  expect(platform.clock.offsetMillis).toBe(60_000);
  writeFileSync(file, world.map((line) => JSON.stringify(line)).join('\n'));
  expect((await platform.control('POST', '/reset')).status).toBe(200);
  expect(await count()).toBe(1);
});

test('lines of a file are read whole and numbered, whatever the size of the file and its line ends', () => {
  const file = join(tempFolder(), 'lines.txt');
  const long = 'é美🌱'.repeat(40_000);
  writeFileSync(
    file,
    `\uFEFFone\r\n\n  \n${Array.from({ length: 12 }, (_, at) => `${at}${long}`).join('\n')}\nlast`,
  );
  const lines = [...linesOf(file)];
  expect(lines.map(({ number }) => number)).toEqual([1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
  expect(lines[0]?.text.trim()).toBe('one');
  expect(lines.slice(1, 13).map(({ text }) => text)).toEqual(
    Array.from({ length: 12 }, (_, at) => `${at}${long}`),
  );
  expect(lines.at(-1)?.text).toBe('last');
});

test('a line that is longer than a megabyte is refused with its number', () => {
  const file = join(tempFolder(), 'lines.txt');
  writeFileSync(file, `one\n${'x'.repeat(3_000_000)}\n`);
  expect(() => [...linesOf(file)]).toThrow('line 2: is longer than 1048576 bytes');
});

test('sandbox import: control calls create investments in a company that only takes reservations, and pass over one without rounds', async () => {
  const without = { type: 'company', id: 'co_without', name: 'Without' };
  const platform = await importing([company, waters, without]);
  const made = await platform.control('POST', '/investments', { company: 'co_acme', count: 2 });
  expect(made.body.ids).toHaveLength(2);
  const token = platform.ready.companies.find(({ id }) => id === 'co_acme')?.token ?? '';
  const { body } = await platform.get('/investments', { token });
  expect(body.data).toMatchObject([
    { offering: 'ofr_waters', status: 'reserved' },
    { offering: 'ofr_waters', status: 'reserved' },
  ]);
  expect((await platform.control('POST', '/churn', { changes: 60 })).body.ids).toHaveLength(60);
  for (const [path, rest] of [
    ['/investments', {}],
    ['/churn', { changes: 1 }],
  ] as const) {
    const refused = await platform.control('POST', path, { company: 'co_without', ...rest });
    expect(refused.status).toBe(409);
    expect(refused.body.error.message).toBe('The company has no round to invest in.');
  }
});
