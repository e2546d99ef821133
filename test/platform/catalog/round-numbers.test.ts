import { afterEach, beforeEach, expect, test } from 'vitest';
import { roundsOfRealm } from '../../../src/platform/catalog/rounds.js';
import { all, run } from '../../../src/platform/state/statements.js';
import { company, type RunningPlatform, startPlatform } from '../../conformance/running-platform.js';

let world: RunningPlatform;
beforeEach(async () => {
  world = await startPlatform();
});
afterEach(() => world.close());

interface Added {
  readonly offering_no: number;
  readonly raised_cents: number;
  readonly reserved_cents: number;
}

const told = () =>
  roundsOfRealm(world.services, 'test', world.clock.now()).map(
    ({ no, raised_cents, investor_count, reserved_cents }) => ({
      no,
      raised_cents,
      investor_count,
      reserved_cents,
    }),
  );

/** Computes the same totals from the records, without SQL aggregates. */
function addedUp() {
  const rows = all<Added & { status: string; committed_cents: number; investor_no: number }>(
    world.services.state,
    'SELECT offering_no, status, raised_cents, committed_cents, investor_no FROM publications WHERE visible = 1',
  );
  return told().map(({ no }) => {
    const own = rows.filter(({ offering_no }) => offering_no === no);
    const reserved = own.filter(({ status }) => status === 'reserved');
    const backers = own.filter(({ status, raised_cents }) => raised_cents > 0 || status === 'reserved');
    return {
      no,
      raised_cents: own.reduce((sum, { raised_cents }) => sum + raised_cents, 0),
      investor_count: new Set(backers.map(({ investor_no }) => investor_no)).size,
      reserved_cents: reserved.reduce((sum, { committed_cents }) => sum + committed_cents, 0),
    };
  });
}

test('catalog: the totals of a round equal the sums over its published records after every kind of change', async () => {
  const judge = () => {
    const numbers = told();
    expect(numbers).toEqual(addedUp());
    // The second call reads the cached totals.
    expect(told()).toEqual(numbers);
    return numbers;
  };
  const atFirst = judge();
  const made = await world.control('POST', '/investments', {
    company: company(world).id,
    set: { amounts: { raised_cents: 123_400 } },
  });
  const [id] = made.body.ids;
  const created = judge();
  expect(created).not.toEqual(atFirst);
  await world.control('PATCH', `/investments/${id}`, { amounts: { raised_cents: 777_700 } });
  const raised = judge();
  expect(raised).not.toEqual(created);
  await world.control('PATCH', `/investments/${id}`, { status: 'canceled' });
  expect(judge()).not.toEqual(raised);
  await world.control('POST', '/churn', { changes: 20 });
  judge();
  await world.control('DELETE', `/investments/${id}`);
  judge();
  run(world.services.state, 'DELETE FROM publications WHERE raised_cents > 0');
  expect(judge().map(({ raised_cents }) => raised_cents)).toEqual(atFirst.map(() => 0));
});
