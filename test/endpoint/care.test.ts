import { chmodSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { statusOf } from '../../src/reading/status.js';
import { type LogFields, type Logger, silentLogger } from '../../src/runtime/logger.js';
import { mirrorEvents } from '../../src/wire/events.js';
import { company } from '../conformance/running-platform.js';
import { startTown, type Town } from './endpoint-fixture.js';

const hour = 3_600_000;
const status = ({ config: { config }, clock }: Town) => statusOf(config.database, clock, config);
const invest = (town: Town, index = 0) =>
  town.world.control('POST', '/investments', { company: company(town.world, index).id });
/** Whether the mirror has what is published by now. To ask the platform each time takes ten times as long. */
const inStep = (town: Town) => {
  const published = town.published();
  return async () => (await town.mirrored()) === (await published);
};
/** Waits for running requests before the clock jumps by hours, which they would see as a timeout. */
const looked = async (town: Town) => {
  await town.until('the endpoint was looked at', () => {
    const { health, rotationAskedAt } = town.endpoint();
    return (
      health !== null &&
      health.state !== 'blocked' &&
      rotationAskedAt === null &&
      town.clock.now() - Date.parse(health.checkedAt) < hour
    );
  });
};

const answered = async (town: Town) => {
  const pending = town.world.services.state
    .prepare<[], number>(`SELECT count(*) FROM webhook_deliveries WHERE state = 'pending'`)
    .pluck();
  await town.until('every delivery is answered', () => pending.get() === 0);
};

test('the daemon creates its endpoint, stores the secret privately, and receives the next change', async () => {
  const town = await startTown();
  await town.daemon();
  await town.until(
    'the endpoint is there',
    async () => (await town.asked('POST', '/webhook_endpoints')) === 1,
  );
  await town.until('the mirror is whole', inStep(town));
  const file = join(town.folder, 'credentials/endpoint.json');
  // A secret on disk may not be in use yet; the health of the same check is stored after both.
  await looked(town);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await invest(town);
  await town.until('the change is mirrored', inStep(town));
  expect(new Set(town.gate.answers)).toEqual(new Set([202]));
  expect(JSON.stringify(await status(town))).not.toContain('whsec_');
});

test('an endpoint of another mode with the same address is logged once, with the command that deletes it', async () => {
  const town = await startTown();
  const [person] = town.world.ready.users;
  const created = await fetch(`${town.world.url}/webhook_endpoints`, {
    method: 'POST',
    headers: { authorization: `Bearer ${person?.liveToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: town.gate.url, events: ['investment.changed'], mode: 'live' }),
  });
  const { data } = (await created.json()) as { data: { id: string } };
  const lines: LogFields[] = [];
  const logger: Logger = { ...silentLogger, warn: (fields) => void lines.push(fields), child: () => logger };
  await town.daemon(logger);
  await looked(town);
  for (let checks = 0; checks < 3; checks += 1) {
    town.clock.advance(60_000);
    await looked(town);
  }
  expect(lines.filter(({ endpoint }) => endpoint === data.id)).toMatchObject([
    { mode: 'live', hint: expect.stringContaining(`rosterd endpoints delete ${data.id}`) },
  ]);
});

test('a restarted daemon continues with its existing endpoint', async () => {
  const town = await startTown();
  const first = await town.daemon();
  await town.until('its secret is kept', async () => (await town.asked('POST', '/webhook_endpoints')) === 1);
  await town.until('it is on disk', () => town.endpoint().health?.state === 'ok');
  const before = town.endpoint();
  await first.close();
  await town.daemon();
  await invest(town);
  await town.until('the change is mirrored', inStep(town));
  expect(town.endpoint()).toMatchObject({ id: before.id, secrets: before.secrets });
  expect(await town.asked('POST', '/webhook_endpoints')).toBe(1);
});

test('an endpoint of an earlier version gets the events of rounds and is not created a second time', async () => {
  const town = await startTown({ events: ['investment.changed'] });
  const before = await town.daemon();
  await looked(town);
  const { id } = town.endpoint();
  await before.close();

  await town.daemon(silentLogger, mirrorEvents);
  const events = town.world.services.state
    .prepare<[], string>('SELECT event FROM webhook_subscriptions ORDER BY endpoint_no, position')
    .pluck();
  await town.until('it is subscribed', () => events.all().join() === mirrorEvents.join());
  expect(town.endpoint().id).toBe(id);
  expect(await town.asked('POST', '/webhook_endpoints')).toBe(1);
});

test('a round that closes is mirrored after its event, long before companies and rounds are due', async () => {
  const town = await startTown();
  await town.daemon();
  const rounds = () => town.read<{ id: string; status: string }>('SELECT id, status FROM rounds');
  await town.until('the rounds are listed', () => rounds().some(({ status }) => status === 'open'));
  await looked(town);
  const [open] = rounds().filter(({ status }) => status === 'open');
  await town.world.control('PATCH', `/offerings/${open?.id}`, { status: 'closed' });
  await town.until('it is closed in the mirror', () =>
    rounds().some(({ id, status }) => id === open?.id && status === 'closed'),
  );
  expect(new Set(town.gate.answers)).toEqual(new Set([202]));
});

test('CLIENT-27 after three days of failures the endpoint recovers without a human and without a lost change', async () => {
  const town = await startTown();
  await town.daemon();
  await town.until('the mirror is whole', inStep(town));
  await town.until('it is healthy', () => town.endpoint().health?.state === 'ok');
  town.gate.down = true;
  await invest(town);
  for (let step = 0; step < 8; step += 1) {
    town.clock.advance(12 * hour);
    await invest(town, step % 2);
    await looked(town);
  }
  await town.until('it was switched on again', async () => (await town.asked('POST', '/reenable')) > 0);
  const { endpoint } = await status(town);
  expect(endpoint).toMatchObject({ reenabledAt: expect.any(String) });

  town.gate.down = false;
  // The platform repeats the last delivery that failed after a minute.
  town.clock.advance(60_000);
  const answered = town.gate.answers.length;
  await invest(town);
  await town.until('the platform delivers again', () => town.gate.answers.slice(answered).includes(202));
  await town.until('nothing is missing', inStep(town));
  town.clock.advance(300_000);
  await town.until('it reads as healthy', () => town.endpoint().health?.state === 'ok');
  expect(town.gate.answers).not.toContain(401);
});

test('CLIENT-27 changes made while the endpoint was disabled are fetched once it is enabled again', async () => {
  const town = await startTown();
  await town.daemon();
  await town.until('the mirror is whole', inStep(town));
  await looked(town);
  town.world.services.state.prepare('UPDATE webhook_endpoints SET enabled = 0').run();
  await invest(town);
  await town.until('the change is mirrored', inStep(town));
  expect(await town.asked('POST', '/reenable')).toBe(1);
  expect(town.gate.answers).toEqual([]);
});

test('CLIENT-23 a rotation rejects no genuine delivery before, during or after the overlap', async () => {
  const town = await startTown({ rotateDays: 1 });
  await town.daemon();
  await town.until('the mirror is whole', inStep(town));
  await looked(town);
  const first = town.endpoint().secrets[0]?.value;
  for (let step = 0; step < 16; step += 1) {
    town.clock.advance(4 * hour);
    await invest(town, step % 2);
    await town.until('the change is mirrored', inStep(town));
    await answered(town);
    await looked(town);
  }
  expect(await town.asked('POST', '/rotate_secret')).toBeGreaterThanOrEqual(2);
  expect(town.endpoint().secrets.map(({ value }) => value)).not.toContain(first);
  expect(new Set(town.gate.answers)).toEqual(new Set([202]));
});

test('a rotation whose response was lost is detected and repeated while the old secret is still valid', async () => {
  const town = await startTown({ rotateDays: 1 });
  await town.daemon();
  await town.until('the mirror is whole', inStep(town));
  await town.until('its secret is kept', () => town.endpoint().health?.state === 'ok');
  await town.world.control('POST', '/faults', [
    { method: 'POST', path: '*/rotate_secret', times: 1, action: { truncate: 20 } },
  ]);
  town.clock.advance(24 * hour);
  await town.until('the answer is lost', () => town.endpoint().rotationAskedAt !== null);
  town.clock.advance(hour);
  await town.until('another is asked for', () => town.endpoint().rotationAskedAt === null);
  for (let step = 0; step < 8; step += 1) {
    await invest(town);
    await town.until('the change is mirrored', inStep(town));
    await answered(town);
    town.clock.advance(4 * hour);
  }
  expect(new Set(town.gate.answers)).toEqual(new Set([202]));
});

test('an endpoint whose creation response was lost is found by its address and not created twice', async () => {
  const town = await startTown();
  await town.world.control('POST', '/faults', [
    { method: 'POST', path: '/webhook_endpoints', times: 1, action: { truncate: 20 } },
  ]);
  const messages: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    info: (_, message) => void messages.push(message),
    child: () => logger,
  };
  await town.daemon(logger);
  await town.until('the answer is lost', () => town.endpoint().health?.state === 'blocked');
  town.clock.advance(300_000);
  await town.until('its secret is known', () => town.endpoint().secrets.length === 1);
  // The message is logged after the secret is stored, and the health after both.
  await looked(town);
  expect(await town.asked('POST', '/rotate_secret')).toBe(1);
  expect(messages.filter((message) => message.includes('again'))).toEqual([
    'the webhook endpoint can be managed again',
  ]);
  await invest(town);
  await town.until('the change is mirrored', inStep(town));
});

test('after a rotation by another program, rejected deliveries are detected and the secret is rotated', async () => {
  const town = await startTown();
  await town.daemon();
  await town.until('the mirror is whole', inStep(town));
  await town.until('its secret is kept', () => town.endpoint().health?.state === 'ok');
  const { id } = town.endpoint();
  const { liveToken } = town.world.ready.users[0] ?? { liveToken: '' };
  expect((await town.world.post(`/webhook_endpoints/${id}/rotate_secret`, { token: liveToken })).status).toBe(
    200,
  );
  town.clock.advance(26 * hour);
  await invest(town);
  await town.until('a delivery is refused', () => town.gate.answers.includes(401));
  await looked(town);
  town.clock.advance(300_000);
  await town.until('it was made good', async () => (await town.asked('POST', '/rotate_secret')) === 2);
  const answered = town.gate.answers.length;
  await invest(town, 1);
  await town.until('deliveries pass', () => town.gate.answers.slice(answered).includes(202));
  await town.until('the change is mirrored', inStep(town));
});

test('a secret file that others can read stops only the endpoint management, and status reports it', async () => {
  const town = await startTown();
  const first = await town.daemon();
  await town.until('its secret is kept', () => town.endpoint().health?.state === 'ok');
  await first.close();
  chmodSync(join(town.folder, 'credentials/endpoint.json'), 0o644);
  await town.daemon();
  await invest(town);
  await town.until('polling goes on', async () => {
    town.clock.advance(hour);
    return inStep(town)();
  });
  const { endpoint } = await status(town);
  expect(endpoint).toMatchObject({ state: 'blocked', hint: expect.stringContaining('chmod 600') });
});

test('an endpoint whose state cannot be stored makes the status of the daemon ask for attention', async () => {
  const town = await startTown({}, { console: { listen: '127.0.0.1:0' } });
  const daemon = await town.daemon();
  await town.until('its secret is kept', () => town.endpoint().health?.state === 'ok');
  // Where the replacement is written to first. Even root cannot write to it.
  const inTheWay = join(town.folder, 'credentials/endpoint.json.new');
  mkdirSync(inTheWay);
  const [owner] = town.world.ready.users;
  await town.world.control('POST', `/users/${owner?.id}/deactivate`);
  const seen = async () =>
    (await (await fetch(`${daemon.consoleUrl}/status.json`)).json()) as {
      health: string;
      problems: object[];
    };
  await town.until('the problem is reported', async () => (await seen()).problems.length > 0);
  expect(await seen()).toMatchObject({
    health: 'attention',
    problems: [
      {
        key: 'endpoint',
        severity: 'attention',
        text: expect.stringContaining('its state cannot be stored'),
      },
    ],
  });
  rmSync(inTheWay, { recursive: true });
  await town.until('it is over', async () => (await seen()).problems.length === 0);
  expect(town.endpoint().health?.state).toBe('blocked');
});

test('an expired management sign-in does not affect the sources and is reported with a hint', async () => {
  const town = await startTown();
  const owner = town.world.ready.users[0];
  await town.world.control('POST', `/users/${owner?.id}/deactivate`);
  await town.daemon();
  await town.until('the mirror is whole', inStep(town));
  await town.until('the block is reported', () => town.endpoint().health?.state === 'blocked');
  expect(town.endpoint().health).toMatchObject({ hint: expect.stringContaining('rosterd connect') });
});
